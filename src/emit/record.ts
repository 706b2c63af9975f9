import { isSpanContextValid, trace } from '@opentelemetry/api';
import type { DropCode } from '../gate/drops.ts';
import { timestamp } from '../protocol/time.ts';
import { ATTR_CATEGORY_NAME } from '../semconv.ts';
import type { Fields, Value } from './value.ts';

export type { Value as RecordValue } from './value.ts';

/** A debug call as it is given to a function of the application, and as one line of JSON. */
export interface DebugRecord {
  /** RFC 3339, UTC, milliseconds. */
  readonly timestamp: string;
  /** `WARN` of a record about calls that the budget dropped. */
  readonly severity: 'DEBUG' | 'WARN';
  readonly category: string;
  readonly message: string;
  readonly attributes: { readonly [name: string]: Value };
  /** The tenant in whose context the call was made. */
  readonly tenant?: string;
  /** The trace and span that were active. */
  readonly traceId?: string;
  readonly spanId?: string;
}

/** A call that is on, with what its message and attributes became. */
export interface Call {
  readonly severity: 'DEBUG' | 'WARN';
  readonly message: string;
  /** The category is one of them. */
  readonly attributes: Fields;
  /** Whether the attributes are such as every output takes as they are. */
  readonly simple: boolean;
  readonly tenantId: string | undefined;
  /** What it takes of a budget: an estimate, until it is written as a line. */
  bytes: number;
}

/** Where calls go: why one was dropped, else nothing. What it throws is reported once for each category. */
export type Output = (call: Call) => DropCode | undefined;

/** The call as a record of this moment and the active span. */
export function recordOf({ severity, message, attributes, tenantId }: Call, epochMs: number): DebugRecord {
  const span = trace.getActiveSpan()?.spanContext();
  const { [ATTR_CATEGORY_NAME]: category, ...others } = attributes;
  return {
    timestamp: timestamp(epochMs),
    severity,
    category: String(category),
    message,
    attributes: others,
    ...(tenantId !== undefined && { tenant: tenantId }),
    ...(span !== undefined && isSpanContextValid(span) && { traceId: span.traceId, spanId: span.spanId }),
  };
}
