import { inspect } from 'node:util';
import { isSpanContextValid, type SpanContext } from '@opentelemetry/api';
import type { Attributes } from '../gate/types.ts';
import { escapeUnprintable } from '../printable.ts';
import { timestamp } from '../protocol/time.ts';

/** A debug call as one line to read: time, level, category, message, attributes, and the active span's ids. */
export function formatLine(
  epochMs: number,
  category: string,
  message: string,
  attributes: Attributes | undefined,
  span: SpanContext | undefined,
): string {
  const parts = [timestamp(epochMs), 'DEBUG', category, message];
  if (attributes !== undefined && Object.keys(attributes).length > 0) parts.push(serialize(attributes));
  if (span !== undefined && isSpanContextValid(span)) parts.push(`trace_id=${span.traceId} span_id=${span.spanId}`);
  return escapeUnprintable(parts.join(' '));
}

/** JSON where it can be: callers may pass anything at run time, cycles and big integers too. */
function serialize(attributes: Attributes): string {
  try {
    return JSON.stringify(attributes);
  } catch {
    return inspect(attributes, { breakLength: Number.POSITIVE_INFINITY, compact: true, customInspect: false });
  }
}
