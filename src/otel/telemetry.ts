import { type Meter, type MeterProvider, metrics, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { withDeadline } from '../wire/time/deadline.ts';
import { INSTRUMENTATION_NAME, VERSION } from '../wire/version.ts';

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

/** Providers that come before the registered ones. They may be set at any time. */
export interface GivenProviders {
  meter?: MeterProvider | undefined;
  tracer?: TracerProvider | undefined;
  /** Of either Logs API; the API's proxy does not count. */
  logger?: object | undefined;
}

/**
 * Telemetry of the given and the globally registered providers, on either line. A meter from before an SDK was registered never
 * takes effect; nor do a tracer and a logger, if the SDK uses another copy of the API. So each is obtained again when its
 * provider changes.
 */
export function createTelemetry(given: GivenProviders = {}): Telemetry & { changed(): void } {
  let meterProvider: MeterProvider | undefined;
  let tracerProvider: TracerProvider | undefined;
  let loggerProvider: LoggerProvider | undefined;
  let meter: Meter;
  let tracer: Tracer;
  let logger: Logger = NOOP_LOGGER;
  const currentLoggerProvider = () =>
    isStoppable(given.logger) ? (given.logger as Stoppable & LoggerProvider) : registeredLoggerProvider();
  const listeners: (() => void)[] = [];
  const notify = () => {
    for (const listener of listeners) listener();
  };
  return {
    changed: notify,
    onChange: (listener) => listeners.push(listener),
    beforeShutdown: (task) => beforeShutdown(currentLoggerProvider(), task),
    get meter() {
      const provider = given.meter ?? metrics.getMeterProvider();
      if (provider !== meterProvider) {
        meter = provider.getMeter(INSTRUMENTATION_NAME, VERSION, SCOPE);
        meterProvider = provider;
      }
      return meter;
    },
    get tracer() {
      const provider = given.tracer ?? trace.getTracerProvider();
      if (provider !== tracerProvider) {
        tracer = provider.getTracer(INSTRUMENTATION_NAME, VERSION, SCOPE);
        tracerProvider = provider;
        notify();
      }
      return tracer;
    },
    get logger() {
      const provider = currentLoggerProvider();
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

/** Whether a logger is one of a provider. */
export function isConnected(logger: Logger): boolean {
  return logger !== NOOP_LOGGER;
}

/** Longest delay of a provider's shutdown, in milliseconds. */
const DEADLINE_MS = 3000;

const TASKS = new WeakMap<object, Set<() => Promise<void>>>();

/**
 * Runs `task` before `provider` shuts down, and delays the shutdown until it is done. `NodeSDK.shutdown()` does not notify
 * instrumentations, so their last log records would be lost. Adding a task twice has no effect. Does nothing for a provider
 * without `shutdown`, such as the API's proxy.
 * @returns a function that removes the task
 */
function beforeShutdown(provider: unknown, task: () => Promise<void>): () => void {
  const tasks = tasksOf(provider);
  tasks?.add(task);
  return () => void tasks?.delete(task);
}

function tasksOf(provider: unknown): Set<() => Promise<void>> | undefined {
  if (!isStoppable(provider)) return undefined;
  const known = TASKS.get(provider);
  if (known !== undefined) return known;
  const tasks = new Set<() => Promise<void>>();
  const shutdown = provider.shutdown;
  const replaced = Reflect.set(provider, 'shutdown', async (...options: unknown[]) => {
    await withDeadline(Promise.allSettled([...tasks].map((task) => task())), DEADLINE_MS);
    return shutdown.apply(provider, options);
  });
  if (!replaced) return undefined;
  TASKS.set(provider, tasks);
  return tasks;
}

interface Stoppable {
  shutdown(...options: unknown[]): Promise<void>;
}

/** True for the provider of an SDK, false for the API's proxy. */
export function isStoppable(provider: unknown): provider is Stoppable {
  return (
    typeof provider === 'object' &&
    provider !== null &&
    'shutdown' in provider &&
    typeof provider.shutdown === 'function'
  );
}

/** An attribute of the registered SDK's resource, which it keeps to itself; otherwise of `OTEL_RESOURCE_ATTRIBUTES`. */
export function resourceAttribute(name: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  for (const provider of Object.values(registeredProviders())) {
    const { _resource, _sharedState } = Object(provider);
    // Unlike `attributes`, this does not warn while a detector is still at work. A value may be a promise.
    const attributes: [string, unknown][] = (_resource ?? _sharedState?.resource)?.getRawAttributes?.() ?? [];
    // The first of two values counts.
    const value = attributes.find(([key, value]) => key === name && typeof value === 'string')?.[1];
    if (value !== undefined) return value as string;
  }
  return variableAttributes(env.OTEL_RESOURCE_ATTRIBUTES ?? '').get(name);
}

/** Parses `key=value,key=value` with percent-encoded values (OpenTelemetry, resource SDK). Skips malformed pairs. */
function variableAttributes(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(',').flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=');
    try {
      return at < 0 ? [] : [[pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())]];
    } catch {
      return [];
    }
  });
  return new Map(pairs.filter(([, value]) => value !== ''));
}
