import { type Meter, metrics, type Tracer, trace } from '@opentelemetry/api';
import { beforeShutdown } from './provider-shutdown.ts';
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
  /** Whether the logger is of a provider that was given for us alone, not of the one that is registered. @default false */
  readonly loggerGiven?: boolean;
  /**
   * Calls back when another provider was set, or was noticed to be registered. Instruments have to move then: unlike
   * loggers and tracers, nobody asks for them at each use.
   */
  onChange?(listener: () => void): void;
  /**
   * Runs `task` before the logger provider of this moment shuts down, and makes the shutdown wait for it. May be called
   * again and again, to keep to the provider that there is.
   * @returns a function that removes the task
   */
  beforeShutdown?(task: () => Promise<void>): () => void;
}

interface LoggerProvider {
  getLogger(name: string, version: string): Logger;
}

const API_REGISTRY = Symbol.for('opentelemetry.js.api.1');
const LOGS_REGISTRY = Symbol.for('io.opentelemetry.js.api.logs');
const LOGS_COMPATIBILITY_VERSION = 1;

/** The places where the copies and releases of OpenTelemetry's API, of major version 1, find what is registered. */
interface Registries {
  /** The API's own; from release 1.10 on the logger provider is among it. */
  readonly [API_REGISTRY]?: {
    readonly logs?: LoggerProvider;
    readonly metrics?: unknown;
    /** The API's stand-in, in front of the provider that was registered. */
    readonly trace?: { getDelegate?(): unknown };
  };
  /** The separate Logs API's of the 2.x line: from a compatibility version to the provider. */
  readonly [LOGS_REGISTRY]?: (version: number) => LoggerProvider;
}

const NOOP_LOGGER: Logger = { emit() {}, enabled: () => false };

/**
 * Telemetry of the providers that are registered globally, on either line, at the moment of asking. A meter, tracer or
 * logger that was taken before an SDK came stays without effect for good (a meter always, the other two when the SDK
 * brings another copy of the API), so each is taken anew when another provider is there.
 */
export function createTelemetry(): Telemetry {
  let meterProvider: ReturnType<typeof metrics.getMeterProvider> | undefined;
  let tracerProvider: ReturnType<typeof trace.getTracerProvider> | undefined;
  let loggerProvider: LoggerProvider | undefined;
  let meter: Meter;
  let tracer: Tracer;
  let logger: Logger = NOOP_LOGGER;
  const listeners: (() => void)[] = [];
  const notify = () => {
    for (const listener of listeners) listener();
  };
  return {
    onChange: (listener) => listeners.push(listener),
    beforeShutdown: (task) => beforeShutdown(registeredLoggerProvider(), task),
    get meter() {
      const provider = metrics.getMeterProvider();
      if (provider !== meterProvider) {
        meter = provider.getMeter(INSTRUMENTATION_NAME, VERSION);
        meterProvider = provider;
      }
      return meter;
    },
    get tracer() {
      const provider = trace.getTracerProvider();
      if (provider !== tracerProvider) {
        tracer = provider.getTracer(INSTRUMENTATION_NAME, VERSION);
        tracerProvider = provider;
        notify();
      }
      return tracer;
    },
    get logger() {
      const provider = registeredLoggerProvider();
      if (provider !== loggerProvider) {
        logger = provider?.getLogger(INSTRUMENTATION_NAME, VERSION) ?? NOOP_LOGGER;
        loggerProvider = provider;
        notify();
      }
      return logger;
    },
  };
}

/** What is registered for each signal, by whichever copy of the API. */
export function registeredProviders(): Record<'traces' | 'metrics' | 'logs', unknown> {
  const { trace, metrics } = (globalThis as Registries)[API_REGISTRY] ?? {};
  return { traces: trace?.getDelegate?.() ?? trace, metrics, logs: registeredLoggerProvider() };
}

export function registeredLoggerProvider(): LoggerProvider | undefined {
  // Read by index: every emitted call passes here, and Reflect.get takes ten times as long.
  const registries = globalThis as Registries;
  return registries[API_REGISTRY]?.logs ?? registries[LOGS_REGISTRY]?.(LOGS_COMPATIBILITY_VERSION);
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
