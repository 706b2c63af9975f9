import { formatLine } from '../calls/emit/formatting.ts';
import { ANY_LEVEL, LEVEL } from '../gate/levels.ts';
import type { OwnLine } from '../gate/types.ts';
import type { AdoptedCategory } from './category.ts';
import { type Method, Patches } from './patches.ts';
import type { Adoption } from './types.ts';

/** A logger of any library whose level can be set. */
export interface Leveled {
  readonly name: unknown;
  get(): unknown;
  set(level: unknown): void;
}

/** Methods that write lines below `info`, in the order in which levels usually turn them on. */
const QUIET = ['verbose', 'debug', 'trace', 'silly'];
/** Methods above them that a logger's own level may hold back. */
const URGENT = ['info', 'warn'];
/** Where the methods stand among our levels. */
const RANKS: Readonly<Record<string, number>> = { ...LEVEL, verbose: LEVEL.debug };
/** Levels that are words, from the most verbose. */
const ORDER = ['silly', 'trace', 'debug', 'verbose', 'info', 'warn', 'warning', 'error', 'fatal', 'silent', 'off'];

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
 * Raises a logger's level while its category is wanted, and lets pass what the category admits of the lines below `info` and
 * of those that the logger's own level holds back. The level is raised for all of the logger, although the category may be on
 * for one tenant alone: guards such as `isDebugEnabled()` read it, and libraries such as loglevel make their methods from it.
 * A control of level `trace` or `silly` raises it further; what a control's level holds back is decided in the methods.
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
    const { leastLevel } = category.gated;
    const before = get();
    const verbose = verboseLevel(leastLevel);
    set(verbose);
    const raised = get();
    // The application has it this verbose already: its lines are its own.
    const isOwn = Object.is(before, raised);
    if (isOwn && leastLevel === ANY_LEVEL) return;
    const last = QUIET.indexOf(String(verbose));
    const opened = QUIET.slice(0, last === -1 ? undefined : last + 1);
    const held = isOwn
      ? []
      : [
          ...opened.filter((method) => !admits(before, levelOf(method), raised)),
          ...URGENT.filter((method) => isBetween(levelOf(method), raised, before)),
        ];
    set(verbose);
    const own = leastLevel === ANY_LEVEL ? [] : [...QUIET, ...URGENT].filter((each) => !held.includes(each));
    // Setting a level may make new methods, so this comes after it.
    const patches = new Patches();
    for (const method of held) gateMethod(patches, logger, method, category, failed);
    for (const method of own) holdMethod(patches, logger, method, category);
    lower = () => {
      lower = () => {};
      patches.restore();
      // Another level is the application's.
      if (Object.is(get(), raised)) set(before);
    };
  }

  /** The level while the category is on: as verbose as the most verbose control asks for, where the library has that. */
  function verboseLevel(asked: number): unknown {
    if (typeof level !== 'string' || asked === ANY_LEVEL || asked > LEVEL.trace) return level;
    const further = asked === LEVEL.silly ? ['silly', 'trace'] : ['trace'];
    const known = further.find(
      (name) => typeof Reflect.get(logger, name) === 'function' && levelOf(name) !== undefined,
    );
    return known === undefined || (ORDER.includes(level) && ORDER.indexOf(level) < ORDER.indexOf(known))
      ? level
      : known;
  }

  /** The library's own value for a level; `undefined` if it has no such level. */
  function levelOf(name: string): unknown {
    try {
      set(name);
      return get();
    } catch {
      return undefined;
    }
  }

  const stop = category.onWanted(() => {
    try {
      lower();
      if (category.opensGuards) raise();
    } catch (error) {
      failed(error, category);
    }
  });
  return () => {
    stop();
    lower();
  };
}

/** Whether a level is more urgent than one and less urgent than the other. Numbers rise or fall, depending on the library. */
function isBetween(level: unknown, one: unknown, other: unknown): boolean {
  const [at, from, to] = [rankOf(level), rankOf(one), rankOf(other)];
  return (from < at && at < to) || (to < at && at < from);
}

/** Whether a logger writes lines of a level by itself. @param verbose a level more verbose than its own */
function admits(own: unknown, level: unknown, verbose: unknown): boolean {
  const [at, from, to] = [rankOf(level), rankOf(verbose), rankOf(own)];
  return from < to ? at >= to : at <= to;
}

/** Not a number where the level is unknown. */
function rankOf(level: unknown): number {
  if (typeof level === 'number') return level;
  const at = ORDER.indexOf(String(level).toLowerCase());
  return at === -1 ? Number.NaN : at;
}

/** Replaces a method whose lines the logger's own level holds back. */
function gateMethod(
  patches: Patches,
  logger: object,
  method: string,
  category: AdoptedCategory,
  failed: Adoption['failed'],
): void {
  // What quietens lets nothing out that the logger itself holds back.
  const level = Math.min(RANKS[method]!, LEVEL.info);
  const kind = { level, isDebug: level < LEVEL.info, reach: 'withheld', isTimeless: true } as const;
  patches.wrap(logger, method, (write) => {
    const { redaction } = category;
    const describe: OwnLine['describe'] = (given) => ({ message: formatLine(redaction.formatted(given)) });
    const gated: Method<unknown> = function (...given) {
      const text = typeof given[0] === 'string' ? given[0] : method;
      if (category.judge({ ...kind, bytes: text.length, given, describe }) !== 'forced') return undefined;
      try {
        return write.apply(this, redaction.formatted(given));
      } catch (error) {
        failed(error, category);
        return undefined;
      }
    };
    return gated;
  });
}

/** Replaces a method whose lines the logger's own level admits: those are its own, and only ever held back. */
function holdMethod(patches: Patches, logger: object, method: string, category: AdoptedCategory): void {
  patches.around(logger, method, (_logger, _args, proceed) =>
    category.holdsBack(RANKS[method]!) ? undefined : proceed(),
  );
}
