import { isSpanContextValid, type SpanContext, trace } from '@opentelemetry/api';
import type { DropCode } from '../../gate/drops.ts';
import type { AttributeFailure } from '../../gate/types.ts';
import { ATTR_CATEGORY_NAME, ATTR_INSTANCE_ID, ATTR_TENANT_ID } from '../../otel/semconv.ts';
import type { DebugRecord, Fields } from '../../wire/debug-record.ts';
import { lineText } from '../../wire/line-text.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
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
  readonly at?: number | undefined;
  /** The error of its attributes, without which it was built. */
  readonly failure?: AttributeFailure | undefined;
}

/** An output. Returns why a call was dropped, otherwise `undefined`. Exceptions are reported once per category. */
export type Output = (call: Call) => DropCode | undefined;

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

/**
 * Formats a debug call as a text line: time, level, category, message, attributes, tenant, and the active span's ids. The stacks
 * of errors are below it.
 */
export function textLine(record: DebugRecord): string {
  const { timestamp, severity, category, ...ids } = record;
  const { message, attributes, below } = lineText(record);
  const parts = [timestamp, severity, category, message];
  if (Object.keys(attributes).length > 0) parts.push(JSON.stringify(attributes));
  if (ids.tenant !== undefined) parts.push(`tenant=${ids.tenant}`);
  if (ids.traceId !== undefined) parts.push(`trace_id=${ids.traceId} span_id=${ids.spanId}`);
  return [parts.join(' '), ...below].map(escapeUnprintable).join('\n');
}

/** Formats a debug call as one JSON object. The ids use OpenTelemetry's names for non-OTLP formats. */
export function jsonLine({ traceId, spanId, ...record }: DebugRecord): string {
  const line = { ...record, ...(traceId !== undefined && { trace_id: traceId, span_id: spanId }) };
  return escapeUnprintable(JSON.stringify(line));
}
