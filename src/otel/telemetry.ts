import { type Meter, metrics, type Tracer, trace } from '@opentelemetry/api';
import { INSTRUMENTATION_NAME, VERSION } from '../wire/version.ts';
import { beforeShutdown } from './provider-shutdown.ts';

/** Not imported: the Logs API is in a different package on each of the two supported lines of OpenTelemetry JS. */
export interface LogRecord {
  readonly eventName?: string;
  readonly severityNumber: number;
  readonly severityText: string;
  /** @default the present time */
  readonly timestamp?: Date;
  readonly body?: string;
  readonly attributes: Record<string, unknown>;
}

export interface Logger {
  emit(record: LogRecord): void;
  /** Absent in early 2.x releases. */
  enabled?(options?: { severityNumber?: number }): boolean;
}

/** Severities of the OpenTelemetry log data model that we use. */
export const SEVERITY = {
  DEBUG: { severityNumber: 5, severityText: 'DEBUG' },
  INFO: { severityNumber: 9, severityText: 'INFO' },
  WARN: { severityNumber: 13, severityText: 'WARN' },
} as const;

/** Read the properties on each use: providers may be registered, or set on the instrumentation, at any time. */
export interface Telemetry {
  readonly meter: Meter;
  readonly tracer: Tracer;
  readonly logger: Logger;
  /** When a provider was set or noticed: instruments, unlike loggers and tracers, must then be made again. */
  onChange?(listener: () => void): void;
  /** Delays the shutdown of the current logger provider until `task` is done. Call it again for one that was registered later. */
  beforeShutdown?(task: () => Promise<void>): () => void;
}

export interface LoggerProvider {
  getLogger(name: string, version: string, options: { readonly schemaUrl: string }): Logger;
}

const API_REGISTRY = Symbol.for('opentelemetry.js.api.1');
const LOGS_REGISTRY = Symbol.for('io.opentelemetry.js.api.logs');
const LOGS_COMPATIBILITY_VERSION = 1;

/** Where all copies and releases of OpenTelemetry's API 1.x look up the registered providers. */
interface Registries {
  /** Registry of the API; since release 1.10 it includes the logger provider. */
  readonly [API_REGISTRY]?: {
    readonly logs?: LoggerProvider;
    readonly metrics?: unknown;
    /** The API's proxy in front of the registered provider. */
    readonly trace?: { getDelegate?(): unknown };
  };
  /** Registry of the separate Logs API of the 2.x line: maps a compatibility version to the provider. */
  readonly [LOGS_REGISTRY]?: (version: number) => LoggerProvider;
}

/** Names of the semantic conventions that we use are as in this version of them. */
export const SCOPE = { schemaUrl: 'https://opentelemetry.io/schemas/1.36.0' };

const NOOP_LOGGER: Logger = { emit() {}, enabled: () => false };

/**
 * Telemetry of the globally registered providers, on either line. A meter from before an SDK was registered never takes effect;
 * nor do a tracer and a logger, if the SDK uses another copy of the API. So each is obtained again when its provider changes.
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
        meter = provider.getMeter(INSTRUMENTATION_NAME, VERSION, SCOPE);
        meterProvider = provider;
      }
      return meter;
    },
    get tracer() {
      const provider = trace.getTracerProvider();
      if (provider !== tracerProvider) {
        tracer = provider.getTracer(INSTRUMENTATION_NAME, VERSION, SCOPE);
        tracerProvider = provider;
        notify();
      }
      return tracer;
    },
    get logger() {
      const provider = registeredLoggerProvider();
      if (provider !== loggerProvider) {
        logger = provider?.getLogger(INSTRUMENTATION_NAME, VERSION, SCOPE) ?? NOOP_LOGGER;
        loggerProvider = provider;
        notify();
      }
      return logger;
    },
  };
}

/** The registered provider of each signal, whichever copy of the API registered it. */
export function registeredProviders(): Record<'traces' | 'metrics' | 'logs', unknown> {
  const { trace, metrics } = (globalThis as Registries)[API_REGISTRY] ?? {};
  return { traces: trace?.getDelegate?.() ?? trace, metrics, logs: registeredLoggerProvider() };
}

export function registeredLoggerProvider(): LoggerProvider | undefined {
  // Hot path: Reflect.get takes ten times as long as an indexed read.
  const registries = globalThis as Registries;
  return registries[API_REGISTRY]?.logs ?? registries[LOGS_REGISTRY]?.(LOGS_COMPATIBILITY_VERSION);
}

/** False for the API's no-op logger, and for its proxy without a provider; true for any of an SDK. */
export function isConnected(logger: Logger): boolean {
  if (logger.enabled?.({ severityNumber: HIGHEST_SEVERITY }) === true) return true;
  // The API's proxy has `_provider`, and `_delegate` once a provider was found.
  if ('_provider' in logger) return Reflect.get(logger, '_delegate') !== undefined;
  return logger !== NOOP_LOGGER && Object.keys(logger).length > 0;
}

/** FATAL4 of the OpenTelemetry log data model. */
const HIGHEST_SEVERITY = 24;
