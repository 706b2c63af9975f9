import type { DropCode } from '../../gate/drops.ts';
import { ATTR_INSTANCE_ID, ATTR_TENANT_ID } from '../../otel/semconv.ts';
import { type Logger, SEVERITY } from '../../otel/telemetry.ts';
import type { Fields, Value } from '../../wire/debug-record.ts';
import { laneDrops } from './debug-lane.ts';
import type { Call, Output } from './record.ts';
import { bytesOf } from './text.ts';
import { setField } from './value.ts';

/**
 * Emits log records through an OpenTelemetry logger. It modifies the attributes, so it comes after every other output.
 * @param dropped called for a record that a debug lane dropped
 */
export function otelOutput(logger: Logger, instanceId: string | undefined, dropped: () => DropCode): Output {
  const lanes = laneDrops();
  const instanceBytes = bytesOf({ [ATTR_INSTANCE_ID]: instanceId });
  return (call: Call) => {
    const { severity, message, attributes, simple, tenantId, at } = call;
    call.bytes += instanceBytes;
    const own = simple ? attributes : transportable(attributes);
    if (tenantId !== undefined) own[ATTR_TENANT_ID] = tenantId;
    if (instanceId !== undefined) own[ATTR_INSTANCE_ID] = instanceId;
    rememberNames(own);
    const before = lanes.count;
    const { severityNumber } = SEVERITY[severity];
    const record = { severityNumber, severityText: severity, body: message, attributes: own };
    // Most calls are of this moment, which the SDK fills in: a spread for the others would take a tenth of the whole.
    logger.emit(at === undefined ? record : { ...record, timestamp: new Date(at) });
    return lanes.count === before ? undefined : dropped();
  };
}

/**
 * The SDK reads the attributes with `Object.entries`, which is three times as fast for a shape whose names V8 keeps: one that
 * was enumerated before. See benchmarks/emit.ts.
 */
function rememberNames(attributes: Fields): void {
  for (const _name in attributes) return;
}

/** OpenTelemetry's exporters do not encode larger integers, and a collector rejects the whole batch. */
const INT64 = 2 ** 63;

/** Renames and converts what SDKs, exporters or collectors of either version lose. */
function transportable(attributes: Fields): Fields {
  const own: Fields = {};
  for (const [name, value] of Object.entries(attributes)) {
    own[name === '' || name === '__proto__' ? `[${name}]` : name] = transportableValue(value);
  }
  return own;
}

function transportableValue(value: Value): Value {
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) >= INT64 ? String(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(transportableValue);
  const own: Fields = {};
  for (const [name, each] of Object.entries(value)) {
    // The SDK mishandles an object with its own `constructor`, and `__proto__` sets the prototype.
    setField(own, name === 'constructor' || name === '__proto__' ? `[${name}]` : name, transportableValue(each));
  }
  return own;
}
