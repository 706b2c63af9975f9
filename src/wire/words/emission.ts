import type { EmissionTarget } from '../emission.ts';

/** Human-readable, after "debug lines". */
export const EMISSION_TEXTS: Readonly<Record<EmissionTarget, string>> = {
  otel: 'to OpenTelemetry',
  stderr: 'to stderr',
  both: 'to stderr and OpenTelemetry',
  json: 'to stderr as JSON',
  function: 'to a function of the application',
};
