/** Where debug calls go. `both` is `otel` and `stderr`; `json` is one object a line on stderr. */
export type EmissionTarget = 'otel' | 'stderr' | 'both' | 'json' | 'function';

/** Where the debug calls of a process go, and why there. */
export interface Emission {
  readonly to: EmissionTarget;
  /** For people. */
  readonly reason: string;
}

/** For people, after "debug lines". */
export const EMISSION_TEXTS: Readonly<Record<EmissionTarget, string>> = {
  otel: 'to OpenTelemetry',
  stderr: 'to stderr',
  both: 'to stderr and OpenTelemetry',
  json: 'to stderr as JSON',
  function: 'to a function of the application',
};
