/** An attribute value: plain data, which both JSON and OpenTelemetry log records can hold. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };

export interface Fields {
  [name: string]: Value;
}

/** A debug call as passed to an application's function, and as a JSON line. */
export interface DebugRecord {
  /** RFC 3339, UTC, milliseconds. */
  readonly timestamp: string;
  /** `WARN` for a record about calls that the budget dropped. */
  readonly severity: 'DEBUG' | 'WARN';
  /** Name of the category. */
  readonly category: string;
  /** The line's message. */
  readonly message: string;
  /** Its attributes, with secrets masked. */
  readonly attributes: { readonly [name: string]: Value };
  /** The tenant in whose context the call was made. */
  readonly tenant?: string;
  /** The active trace and span. */
  readonly traceId?: string;
  /** Span that the call belongs to, 16 hex digits. */
  readonly spanId?: string;
}
