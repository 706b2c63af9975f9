import { GateCore } from './core.ts';
import type { Category, CategoryOptions, Gate } from './types.ts';

// Keyed by the major version of the contract, as the OpenTelemetry API does: two copies of the package in one process
// share the gate of the one that was loaded first.
const REGISTRY_KEY = Symbol.for('opentelemetry-instrumentation-rdcp.gate.v1');

function processWideGate(): Gate {
  const existing: Gate | undefined = Reflect.get(globalThis, REGISTRY_KEY);
  if (existing !== undefined) return existing;
  const created = new GateCore();
  Object.defineProperty(globalThis, REGISTRY_KEY, { value: created });
  return created;
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
