/** The console, a page for operators. */
export interface ConsoleOptions {
  /**
   * Address of a trace in your tracing backend, as an http or https URL with `{traceId}` in it, and `{spanId}` where the backend
   * takes one. Trace ids of tailed lines become links to it.
   * @default none: trace ids are text
   */
  readonly traceUrl?: string | undefined;
}
