/** Output of debug calls. `both` is `otel` and `stderr`; `json` is one JSON object per line on stderr. */
export type EmissionTarget = 'otel' | 'stderr' | 'both' | 'json' | 'function';

/** The output of a process's debug calls, and why it was chosen. */
export interface Emission {
  /** Where they go. */
  readonly to: EmissionTarget;
  /** Human-readable. */
  readonly reason: string;
}
