import { type Meter, metrics, type Tracer, trace } from '@opentelemetry/api';
import { INSTRUMENTATION_NAME, VERSION } from './version.ts';

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

interface LoggerProvider {
  getLogger(name: string, version: string): Logger;
}

/** Where the API keeps what is registered, for all its copies and releases of major version 1; the Logs API is in it on the 3.x line. */
const API_REGISTRY = Symbol.for('opentelemetry.js.api.1');
/** Where the separate Logs API of the 2.x line keeps its provider: a function from a compatibility version to it. */
const LOGS_REGISTRY = Symbol.for('io.opentelemetry.js.api.logs');
const LOGS_COMPATIBILITY_VERSION = 1;

const NOOP_LOGGER: Logger = { emit() {}, enabled: () => false };

/**
 * Telemetry of the providers that are registered globally, on either line, at the moment of asking. A meter, tracer or
 * logger that was taken before an SDK came stays without effect for good (a meter always, the other two when the SDK
 * brings another copy of the API), so each is taken anew when another provider is there.
 */
export function createTelemetry(): Telemetry {
  const meter = perProvider((provider: ReturnType<typeof metrics.getMeterProvider>) =>
    provider.getMeter(INSTRUMENTATION_NAME, VERSION),
  );
  const tracer = perProvider((provider: ReturnType<typeof trace.getTracerProvider>) =>
    provider.getTracer(INSTRUMENTATION_NAME, VERSION),
  );
  const logger = perProvider(
    (provider: LoggerProvider | undefined) => provider?.getLogger(INSTRUMENTATION_NAME, VERSION) ?? NOOP_LOGGER,
  );
  return {
    get meter() {
      return meter(metrics.getMeterProvider());
    },
    get tracer() {
      return tracer(trace.getTracerProvider());
    },
    get logger() {
      return logger(registeredLoggerProvider());
    },
  };
}

/** Remembers what was made of the provider seen last. */
function perProvider<P, T>(make: (provider: P) => T): (provider: P) => T {
  let last: { readonly provider: P; readonly made: T } | undefined;
  return (provider) => {
    if (last === undefined || last.provider !== provider) last = { provider, made: make(provider) };
    return last.made;
  };
}

function registeredLoggerProvider(): LoggerProvider | undefined {
  const api: { logs?: LoggerProvider } | undefined = Reflect.get(globalThis, API_REGISTRY);
  if (api?.logs !== undefined) return api.logs;
  const logs: ((version: number) => LoggerProvider) | undefined = Reflect.get(globalThis, LOGS_REGISTRY);
  return logs?.(LOGS_COMPATIBILITY_VERSION);
}

/**
 * False for a logger that leads nowhere: the API's no-op, or its stand-in while no provider is registered. One that an
 * SDK made counts as connected also where that SDK drops everything: its owner wanted it so.
 */
export function isConnected(logger: Logger): boolean {
  if (logger.enabled?.({ severityNumber: HIGHEST_SEVERITY }) === true) return true;
  // The API's stand-in has a provider, and its delegate once somebody asked and there was one.
  if ('_provider' in logger) return Reflect.get(logger, '_delegate') !== undefined;
  return logger !== NOOP_LOGGER && Object.keys(logger).length > 0;
}

/** FATAL4 of the OpenTelemetry log data model. */
const HIGHEST_SEVERITY = 24;
