import type { DiagLogger } from '@opentelemetry/api';
import { isTracingSuppressed } from '../../otel/own-work.ts';
import type { AdoptedCategory } from '../category.ts';
import type { Source } from '../types.ts';

/** Where all copies of OpenTelemetry's API 1.x look up the logger of `diag`. */
const API_REGISTRY = Symbol.for('opentelemetry.js.api.1');

const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
type Level = (typeof LEVELS)[number];

interface Registry {
  diag?: DiagLogger | undefined;
}

const PLAIN = { writable: true, enumerable: true, configurable: true };

/**
 * OpenTelemetry's diagnostics, `diag`, at debug level. While the category is wanted, a logger of ours stands before the one of
 * the application, which gets everything as before.
 */
export const OTEL_DIAG: Source = {
  kind: 'otel',
  option: 'otel',
  start(adoption) {
    const description = "OpenTelemetry's own diagnostics at debug level";
    const category = adoption.category('otel:diag', { description });
    return category?.whileWanted(() => listen(category)) ?? (() => {});
  },
};

/** Puts our logger before the registered one, now or when there is a registry. Returns a function that undoes it. */
function listen(category: AdoptedCategory): () => void {
  const registry = (globalThis as { [API_REGISTRY]?: Registry })[API_REGISTRY];
  return registry === undefined ? awaitRegistry(category) : replaceLogger(registry, category);
}

/** The first SDK makes the registry. Ours would be of the wrong version for another copy of the API. */
function awaitRegistry(category: AdoptedCategory): () => void {
  const set = (registry: Registry) => {
    Object.defineProperty(globalThis, API_REGISTRY, { ...PLAIN, value: registry });
    stop = replaceLogger(registry, category);
  };
  let stop = () => {
    if (Object.getOwnPropertyDescriptor(globalThis, API_REGISTRY)?.set === set)
      Reflect.deleteProperty(globalThis, API_REGISTRY);
  };
  Object.defineProperty(globalThis, API_REGISTRY, { get: () => undefined, set, configurable: true });
  return () => stop();
}

function replaceLogger(registry: Registry, category: AdoptedCategory): () => void {
  const before = Object.getOwnPropertyDescriptor(registry, 'diag');
  let registered = registry.diag;
  const logger = loggerBefore(() => registered, category);
  const get = () => logger;
  const set = (given: DiagLogger | undefined) => {
    registered = given;
  };
  Object.defineProperty(registry, 'diag', { get, set, enumerable: true, configurable: true });
  return () => {
    // `diag.disable()` has removed it.
    if (Object.getOwnPropertyDescriptor(registry, 'diag')?.get !== get) return;
    if (before === undefined && registered === undefined) delete registry.diag;
    else Object.defineProperty(registry, 'diag', { ...(before ?? PLAIN), value: registered });
  };
}

function loggerBefore(registered: () => DiagLogger | undefined, category: AdoptedCategory): DiagLogger {
  let emitting = false;

  function emit(level: Level, given: readonly unknown[]): void {
    // Diagnostics of the outputs about our own record.
    if (emitting) return;
    // An exporter that says what it sends would have more to send, for ever. Its failures are reported.
    if (isTracingSuppressed() && level !== 'error' && level !== 'warn') return;
    emitting = true;
    try {
      const words = given.findIndex((part) => typeof part !== 'string');
      const message = (words === -1 ? given : given.slice(0, words)).join(' ');
      const rest = words === -1 ? [] : given.slice(words);
      category.debug(message, {
        'otel.diag.level': level,
        ...(rest.length > 0 && { 'otel.diag.arguments': rest }),
      });
    } finally {
      emitting = false;
    }
  }

  return {
    ...(Object.fromEntries(
      LEVELS.map((level) => [
        level,
        (...given: unknown[]) => {
          registered()?.[level](...(given as [string]));
          emit(level, given);
        },
      ]),
    ) as Pick<DiagLogger, Level>),
    verbose: (...given) => registered()?.verbose(...given),
  };
}
