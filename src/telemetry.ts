import type { Meter, Tracer } from '@opentelemetry/api';

/**
 * The part of an OpenTelemetry log record that we write. The Logs API lives in another package on each of the two
 * living lines of OpenTelemetry JS, so its types are not imported.
 */
export interface LogRecord {
  readonly eventName?: string;
  readonly severityNumber: number;
  readonly severityText: string;
  readonly body?: string;
  readonly attributes: Record<string, unknown>;
}

export interface Logger {
  emit(record: LogRecord): void;
  /** Absent on early releases of the 2.x line. */
  enabled?(options?: { severityNumber?: number }): boolean;
}

/** Severities of the OpenTelemetry log data model that we use. */
export const SEVERITY = {
  DEBUG: { severityNumber: 5, severityText: 'DEBUG' },
  INFO: { severityNumber: 9, severityText: 'INFO' },
  WARN: { severityNumber: 13, severityText: 'WARN' },
} as const;

/**
 * Where telemetry goes. Everything is asked for when it is needed, because the providers may be registered, or set on
 * the instrumentation, after we were made.
 */
export interface Telemetry {
  readonly meter: Meter;
  readonly tracer: Tracer;
  readonly logger: Logger;
}
