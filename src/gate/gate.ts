import { GateCore } from './core.ts';
import { ThreadHost } from './thread-host.ts';
import { ThreadLink } from './thread-link.ts';
import type { Category, CategoryOptions, Gate, RecordedLine } from './types.ts';
import type { WorkAttributes } from './work.ts';

type Threads = typeof import('node:worker_threads');

// Keyed by the contract's major version, as in the OpenTelemetry API: two copies of the package in one process share the
// gate of the copy that was loadThreads first.
const REGISTRY_KEY = Symbol.for('opentelemetry-instrumentation-rdcp.gate.v1');

function processWideGate(): Gate {
  const existing: Gate | undefined = Reflect.get(globalThis, REGISTRY_KEY);
  if (existing !== undefined) return existing;
  const created = createGate();
  Object.defineProperty(globalThis, REGISTRY_KEY, { value: created });
  return created;
}

/**
 * A worker thread has its own gate, which follows the main thread's. Loading `node:worker_threads` takes milliseconds, so
 * the main thread loads it with the first control plane. `process.chdir.disabled` identifies a worker thread without it.
 */
function createGate(): GateCore {
  const loadThreads = (): Threads => process.getBuiltinModule('node:worker_threads');
  try {
    const threads = Reflect.get(process.chdir, 'disabled') === true ? loadThreads() : undefined;
    if (threads !== undefined && !threads.isMainThread) return followMainThread(threads);
  } catch {
    // A runtime whose threads differ from Node's: no gate is followed.
  }
  return new GateCore({
    hostThreads: (gate) => {
      try {
        return loadThreads().isMainThread ? new ThreadHost(loadThreads(), gate) : undefined;
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

/** The gate of this process. */
export const gate: Gate = processWideGate();

/**
 * Returns the category of that name, and registers it on first use. The same name returns the same handle, process-wide.
 * A later description fills an empty one; the first default given wins.
 * @param name `^[A-Z][A-Z0-9_]{0,63}$`, or `^X-[A-Z][A-Z0-9_-]{0,61}$` for a custom category
 * @throws {RangeError} when the limit on categories is reached
 * @throws {TypeError} when the name is not a category name
 */
export function category(name: string, options?: CategoryOptions): Category {
  return gate.category(name, options);
}

/** Runs `fn` in the tenant's async context. Returns the result of `fn`. */
export function runWithTenant<T>(tenantId: string, fn: () => T): T {
  return gate.runWithTenant(tenantId, fn);
}

/**
 * Runs `fn` as a piece of work with attributes that an operator can ask for: `rdcp tail DATABASE -m user.id=42`. What is
 * called in it, asynchronously too, has them, and those of the work around it. Without any around it, it is a piece of work of its
 * own, as `runWork` makes one. Returns the result of `fn`.
 * @param attributes at most 64 in all, names and values of at most 1,024 characters; others are ignored
 */
export function runWithAttributes<T>(attributes: WorkAttributes, fn: () => T): T {
  return gate.work.run(attributes, fn);
}

/**
 * Sets attributes of the current piece of work, for what is known only in the middle of it, such as the user after
 * authentication. They hold for the rest of the work: of the `runWithAttributes` around it, else of the HTTP request
 * while it is followed, else of this asynchronous execution. Never throws.
 */
export function setAttributes(attributes: WorkAttributes): void {
  gate.work.set(attributes);
}

/**
 * Runs `fn` as a piece of work of its own, such as a job or a message of a queue: it fails if `fn` throws or its promise
 * rejects. Debug output can be asked for of failed or slow work alone: `rdcp enable DATABASE --on-error`. HTTP requests are
 * pieces of work without it. Returns what `fn` does.
 * @param name what is done, such as `send-invoice`; shown to operators
 */
export function runWork<T>(name: string, fn: () => T): T {
  return gate.work.runNamed(name, fn);
}

/**
 * The lines that were recorded so far of the current piece of work, the oldest first: what led to an error, for whoever reports
 * it. They are redacted as written lines are. Empty outside of any work, and where no category of it is recorded. Never throws.
 */
export function recordedLines(): readonly RecordedLine[] {
  // An older copy of this package may have made the gate.
  return gate.recordedLines?.() ?? [];
}
