import type { DebugRecord } from '../../wire/debug-record.ts';
import { lineText } from '../../wire/line-text.ts';
import { escapeUnprintable } from '../../wire/printable.ts';

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
