import { GateCore } from './core.ts';
import { ThreadHost } from './thread-host.ts';
import { ThreadLink } from './thread-link.ts';
import type { Category, CategoryOptions, Gate } from './types.ts';

type Threads = typeof import('node:worker_threads');

// Keyed by the major version of the contract, as the OpenTelemetry API does: two copies of the package in one process
// share the gate of the one that was loaded first.
const REGISTRY_KEY = Symbol.for('opentelemetry-instrumentation-rdcp.gate.v1');

function processWideGate(): Gate {
  const existing: Gate | undefined = Reflect.get(globalThis, REGISTRY_KEY);
  if (existing !== undefined) return existing;
  const created = createGate();
  Object.defineProperty(globalThis, REGISTRY_KEY, { value: created });
  return created;
}

/**
 * A worker thread has a gate of its own, which follows that of the main thread. To load `node:worker_threads` takes
 * milliseconds, so the main thread does it with the first control plane, and tells a worker thread by what Node has
 * disabled there.
 */
function createGate(): GateCore {
  const loaded = (): Threads => process.getBuiltinModule('node:worker_threads');
  try {
    const threads = Reflect.get(process.chdir, 'disabled') === true ? loaded() : undefined;
    if (threads !== undefined && !threads.isMainThread) return followMainThread(threads);
  } catch {
    // A runtime that has other threads than Node: this one is alone.
  }
  return new GateCore({
    hostThreads: (gate) => {
      try {
        return loaded().isMainThread ? new ThreadHost(loaded(), gate) : undefined;
      } catch {
        return undefined;
      }
    },
  });
}

function followMainThread(threads: Threads): GateCore {
  const link = new ThreadLink(threads);
  const core = new GateCore({ memory: link.memory });
  link.start(core);
  return core;
}

/** The one gate of this process. */
export const gate: Gate = processWideGate();

/**
 * The category of that name, registered on first use: the same name gives the same handle, process-wide. A description
 * given later fills an empty one; of several defaults the first one given counts.
 * @param name `^[A-Z][A-Z0-9_]{0,63}$`, or `^X-[A-Z][A-Z0-9_-]{0,61}$` for a custom category
 * @throws {RangeError} when the limit on categories is reached
 * @throws {TypeError} when the name is not a category name
 */
export function category(name: string, options?: CategoryOptions): Category {
  return gate.category(name, options);
}

/** Runs `fn` so that everything in it, also asynchronously, is the tenant's. Returns what `fn` returns. */
export function runWithTenant<T>(tenantId: string, fn: () => T): T {
  return gate.runWithTenant(tenantId, fn);
}
