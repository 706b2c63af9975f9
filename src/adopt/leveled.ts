import { format } from 'node:util';
import type { AdoptedCategory, Adoption } from './types.ts';

/** A logger of any library whose level can be set. */
export interface Leveled {
  readonly name: unknown;
  get(): unknown;
  set(level: unknown): void;
}

/** Methods that write lines below `info`, in the order in which levels usually turn them on. */
const QUIET = ['verbose', 'debug', 'trace', 'silly'];

/** Returns access to a logger's level; `undefined` if it has none. */
export function leveled(logger: object): Leveled | undefined {
  const member = (name: string): unknown => Reflect.get(logger, name);
  const name = member('name');
  if (typeof member('getLevel') === 'function' && typeof member('setLevel') === 'function') {
    const call = (method: string, ...args: unknown[]) => Reflect.apply(member(method) as () => unknown, logger, args);
    // `false`: loglevel shall not keep the level beyond the process.
    return { name, get: () => call('getLevel'), set: (level) => call('setLevel', level, false) };
  }
  const level = member('level');
  if (typeof level === 'function' && typeof member('levels') === 'function') {
    // bunyan: `level()` gets it, `level(value)` sets it.
    const call = (...args: unknown[]) => Reflect.apply(level, logger, args);
    return { name: (member('fields') as { readonly name?: unknown } | undefined)?.name, get: call, set: call };
  }
  if (level === undefined || typeof level === 'function') return undefined;
  return { name, get: () => member('level'), set: (value) => void Reflect.set(logger, 'level', value) };
}

/**
 * Raises a logger's level while its category is wanted, and lets those lines below `info` pass that the category admits.
 * Returns a function that puts everything back.
 */
export function adoptLeveled(
  logger: object,
  { get, set }: Leveled,
  level: unknown,
  category: AdoptedCategory,
  failed: Adoption['failed'],
): () => void {
  let lower = () => {};

  function raise(): void {
    const before = get();
    set(level);
    const raised = get();
    // The application has it this verbose already: its lines are its own.
    if (Object.is(before, raised)) return;
    const last = QUIET.indexOf(String(level));
    const ungate = QUIET.slice(0, last === -1 ? undefined : last + 1).map((method) =>
      gateMethod(logger, method, category),
    );
    lower = () => {
      lower = () => {};
      for (const each of ungate) each();
      // Another level is the application's.
      if (Object.is(get(), raised)) set(before);
    };
  }

  const stop = category.onWanted((wanted) => {
    try {
      lower();
      if (wanted) raise();
    } catch (error) {
      failed(error, category);
    }
  });
  return () => {
    stop();
    lower();
  };
}

function gateMethod(logger: object, method: string, category: AdoptedCategory): () => void {
  const write: unknown = Reflect.get(logger, method);
  if (typeof write !== 'function') return () => {};
  const own = Object.getOwnPropertyDescriptor(logger, method);
  const gated = function (this: unknown, ...args: unknown[]): unknown {
    const text = typeof args[0] === 'string' ? args[0] : method;
    if (!category.passes(text, () => ({ message: format(...args) }))) return undefined;
    return Reflect.apply(write, this, args);
  };
  Object.defineProperty(logger, method, {
    value: gated,
    writable: true,
    configurable: true,
    enumerable: own?.enumerable ?? false,
  });
  return () => {
    if (Reflect.get(logger, method) !== gated) return;
    if (own === undefined) Reflect.deleteProperty(logger, method);
    else Object.defineProperty(logger, method, own);
  };
}
