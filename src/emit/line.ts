import { escapeUnprintable } from '../printable.ts';
import type { DebugRecord } from './record.ts';

/** A debug call as one line to read: time, level, category, message, attributes, and the active span's ids. */
export function textLine({ timestamp, severity, category, message, attributes, ...ids }: DebugRecord): string {
  const parts = [timestamp, severity, category, message];
  if (Object.keys(attributes).length > 0) parts.push(JSON.stringify(attributes));
  if (ids.traceId !== undefined) parts.push(`trace_id=${ids.traceId} span_id=${ids.spanId}`);
  return escapeUnprintable(parts.join(' '));
}

/** A debug call as one JSON object. The ids are named as OpenTelemetry names them in formats other than its own. */
export function jsonLine({ traceId, spanId, ...record }: DebugRecord): string {
  const line = { ...record, ...(traceId !== undefined && { trace_id: traceId, span_id: spanId }) };
  return escapeUnprintable(JSON.stringify(line));
}
