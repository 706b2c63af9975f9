import { isSpanContextValid, type SpanContext, trace } from '@opentelemetry/api';
import type { DropCode } from '../../gate/drops.ts';
import { ATTR_CATEGORY_NAME, ATTR_INSTANCE_ID, ATTR_TENANT_ID } from '../../otel/semconv.ts';
import type { DebugRecord, Fields, Value } from '../../wire/debug-record.ts';
import { detached } from '../../wire/detached.ts';
import { timestamp } from '../../wire/time.ts';
import type { ExportedRecord } from './log-exports.ts';

/** An enabled call with its message and attributes built. */
export interface Call {
  readonly severity: 'DEBUG' | 'WARN';
  readonly message: string;
  /** Includes the category. */
  readonly attributes: Fields;
  /** Whether every output accepts the attributes unchanged. */
  readonly simple: boolean;
  readonly tenantId: string | undefined;
  /** Its cost to a budget: an estimate until it is written as a line. */
  bytes: number;
  /** When it was made, in milliseconds since the epoch. @default now */
  readonly at?: number;
}

/** An output. Returns why a call was dropped, otherwise `undefined`. Exceptions are reported once per category. */
export type Output = (call: Call) => DropCode | undefined;

/** Size of a call in memory beside its message and attributes, in bytes, as measured: `test/emit/memory.full.ts`. */
export const HELD_BYTES = 300;

/** The call as it can be kept: with copies of its texts. */
export function keepable(call: Call): Call {
  const { message, attributes, tenantId } = call;
  return {
    ...call,
    message: detached(message),
    attributes: keepableValue(attributes) as Fields,
    tenantId: tenantId === undefined ? undefined : detached(tenantId),
  };
}

function keepableValue(value: Value): Value {
  if (typeof value === 'string') return detached(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(keepableValue);
  const kept: Fields = { ...(value as Fields) };
  for (const name in kept) kept[name] = keepableValue(kept[name]!);
  return kept;
}

/** Combines the call with its time, by default `epochMs`, and its span. @param span @default the active one */
export function recordOf(
  { severity, message, attributes, tenantId, at }: Call,
  epochMs: number,
  span: SpanContext | undefined = trace.getActiveSpan()?.spanContext(),
): DebugRecord {
  const { [ATTR_CATEGORY_NAME]: category, ...others } = attributes;
  return {
    timestamp: timestamp(at ?? epochMs),
    severity,
    category: String(category),
    message,
    attributes: others,
    ...(tenantId !== undefined && { tenant: tenantId }),
    ...(span !== undefined && isSpanContextValid(span) && { traceId: span.traceId, spanId: span.spanId }),
  };
}

/** Converts a log record of OpenTelemetry's SDK back; `undefined` for one that is no debug call. */
export function recordOfExported({
  hrTime,
  severityText,
  body,
  attributes,
  spanContext,
}: ExportedRecord): DebugRecord | undefined {
  const {
    [ATTR_CATEGORY_NAME]: category,
    [ATTR_TENANT_ID]: tenant,
    [ATTR_INSTANCE_ID]: _,
    ...others
  } = attributes as Fields;
  if (typeof category !== 'string') return undefined;
  return {
    timestamp: timestamp(hrTime[0] * 1000 + Math.floor(hrTime[1] / 1_000_000)),
    severity: severityText === 'WARN' ? 'WARN' : 'DEBUG',
    category,
    message: String(body),
    attributes: others,
    ...(typeof tenant === 'string' && { tenant }),
    ...(spanContext !== undefined && { traceId: spanContext.traceId, spanId: spanContext.spanId }),
  };
}
