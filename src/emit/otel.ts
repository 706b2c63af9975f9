import type { DropCode } from '../gate/drops.ts';
import { ATTR_TENANT_ID } from '../semconv.ts';
import { type Logger, SEVERITY } from '../telemetry.ts';
import { laneDrops } from './debug-lane.ts';
import type { Call, Output } from './record.ts';
import { type Fields, setField, type Value } from './value.ts';

/**
 * Log records of an OpenTelemetry logger. It makes the attributes its own, so it comes after every other output.
 * @param dropped called for a record that a debug lane dropped
 */
export function otelOutput(logger: Logger, dropped: () => DropCode): Output {
  const lanes = laneDrops();
  return ({ severity, message, attributes, simple, tenantId }: Call) => {
    const own = simple ? attributes : transportable(attributes);
    if (tenantId !== undefined) own[ATTR_TENANT_ID] = tenantId;
    const before = lanes.count;
    logger.emit({
      severityNumber: SEVERITY[severity].severityNumber,
      severityText: severity,
      body: message,
      attributes: own,
    });
    return lanes.count === before ? undefined : dropped();
  };
}

/** Beyond, a whole number is none to OpenTelemetry's exporters, and a collector refuses the whole batch for it. */
const INT64 = 2 ** 63;

/** Without the names and numbers that SDKs, exporters or collectors of either line lose. */
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
    // The SDK takes an object with a `constructor` of its own for none, and sets the prototype by the other one.
    setField(own, name === 'constructor' || name === '__proto__' ? `[${name}]` : name, transportableValue(each));
  }
  return own;
}
