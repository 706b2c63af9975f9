import { stripVTControlCharacters } from 'node:util';
import type { ArgumentRedaction } from '../../calls/emit/arguments.ts';
import { formatLine, UNFORMATTABLE } from '../../calls/emit/formatting.ts';
import { isOwnLoading, isOwnWork } from '../../otel/own-work.ts';
import { timers } from '../../wire/time/timers.ts';
import type { AdoptedCategory, Adoption, LibraryCopy, Source } from '../types.ts';

// The package `debug`, 2.6.9, 3.2.7 and from 4.3.4. All versions look `init`, `enabled`, `coerce`, `formatters`, `formatArgs` and `log` up on
// the exported function when they need them. What differs is how an instance knows whether it is on:
// - in 2.6.9 and 3.2.7 it has a plain property, set when it is made (and by `enable()` in 3.2.7);
// - since 4.3.4 it asks again when `createDebug.namespaces` is another string than before.
// `createDebug.enable()` is never called: it writes `process.env.DEBUG`, which child processes inherit.

type Log = (this: unknown, ...args: unknown[]) => unknown;
type Formatter = (this: DebugInstance, value: unknown) => unknown;

/** The exported function, as far as all versions have it. */
interface DebugExports {
  coerce(value: unknown): unknown;
  /** Keyed by letter: that of `%o` is `o`. */
  formatters: Readonly<Record<string, Formatter | undefined>>;
  enabled(namespace: unknown): unknown;
  enable(this: unknown, namespaces: unknown): unknown;
  formatArgs(this: DebugInstance, args: unknown[]): unknown;
  init?(instance: DebugInstance): unknown;
  log: Log;
  /** Every instance, in 3.2.7. */
  readonly instances?: readonly DebugInstance[];
  /** The enabled namespaces, since 4.3.4. */
  namespaces?: unknown;
}

interface DebugInstance {
  readonly namespace: string;
  readonly useColors?: unknown;
  enabled: boolean;
  log?: Log;
}

/** A value that a formatter has put into the text of a call, as the application gave it. */
interface Insertion {
  readonly letter: string;
  readonly formatter: Formatter;
  readonly value: unknown;
}

/** A call before it was formatted. */
interface Call {
  /** The first argument. */
  readonly template: unknown;
  readonly inserted: readonly Insertion[];
}

/** An instance whose `enabled` is a plain property. */
interface Plain {
  readonly instance: WeakRef<DebugInstance>;
  /** The value when it was made, without adoption. */
  readonly before: boolean;
  /** The value that was set last. Another one is the application's, and stays. */
  set: boolean;
}

interface Namespace {
  readonly category: AdoptedCategory;
  /** Whether `DEBUG` or `enable()` has it on. */
  native: boolean;
  wanted: boolean;
  readonly plain: Set<Plain>;
  stop: () => void;
}

export const DEBUG: Source = {
  kind: 'debug',
  option: 'debug',
  modules: ['>=2.6.9 <3', '>=3.2.7 <4', '>=4.3.4 <5'].map((versions) => ({
    name: 'debug',
    versions,
    file: 'src/index.js',
  })),
  adopt: (exports, copy, adoption) => {
    const created = exports as DebugExports;
    if (!isDebug(created)) throw new Error(`debug ${copy.version} exports something unknown, or is frozen`);
    return adoptDebug(created, copy, adoption);
  },
  recognizes: isDebug,
  isLogger: isInstance,
  adoptLogger: (logger, _options, adoption) => adoptInstance(logger as unknown as DebugInstance, adoption),
};

/** Namespaces of libraries that come with instrumentations such as this one, which the application did not choose. */
const NOT_OF_APPLICATIONS: ReadonlySet<string> = new Set(['require-in-the-middle']);

/** Most namespaces that are followed. Earlier ones that were made from data are released. */
const MAX_NAMESPACES = 4096;

/** Time in milliseconds after which a call shows whether the application uses a library that our own endpoint has used. */
const ASK_AGAIN_AFTER = 1000;

const PATCHED = ['init', 'enabled', 'enable', 'coerce', 'formatters', 'formatArgs', 'log'] as const;

/** Whether a value is the export of the package `debug`, and can be patched. */
export function isDebug(exports: unknown): exports is DebugExports {
  if (typeof exports !== 'function') return false;
  const known = ['enabled', 'formatArgs', 'log', 'enable', 'disable', 'coerce', 'humanize'];
  return (
    known.every((name) => typeof Reflect.get(exports, name) === 'function') &&
    PATCHED.every((name) => {
      const property = Object.getOwnPropertyDescriptor(exports, name);
      return property === undefined ? Object.isExtensible(exports) : property.writable === true;
    })
  );
}

/** Instances of an earlier adoption, of copies that keep no list of their own. */
const unlisted = new WeakMap<DebugExports, readonly Plain[]>();

/** How often instances were made to ask again: one that has not asked since an earlier adoption keeps what it knew then. */
let variants = 0;

/** Separators mean nothing in the list of namespaces, so each number is another string of the same meaning. */
function separators(number: number): string {
  return number.toString(2).replaceAll('0', ' ').replaceAll('1', ',');
}

function adoptDebug(exports: DebugExports, { version, loadedBefore }: LibraryCopy, adoption: Adoption): () => void {
  const originals = Object.fromEntries(
    PATCHED.map((name) => [name, Object.getOwnPropertyDescriptor(exports, name)]),
  ) as Readonly<Record<(typeof PATCHED)[number], PropertyDescriptor | undefined>>;
  const {
    enabled: isNative,
    enable,
    coerce,
    formatters,
    formatArgs: formatNatively,
    log: writeNatively,
    init,
  } = exports;
  /** Otherwise the application has replaced it, and its function gets the lines. */
  const writesToStderr = /\.write\(/.test(Function.prototype.toString.call(writeNatively));
  const namespaces = new Map<string, Namespace>();
  /** Namespaces that only our own endpoint has used, such as Koa's: they are not the application's. */
  const ofEndpoint = new Set<string>();
  let askAgain: NodeJS.Timeout | undefined;
  let hasLetGo = false;
  const collected = new FinalizationRegistry<() => void>((forget) => forget());
  let active = true;
  /** The first argument of the call that is made. */
  let template: unknown;
  /** What formatters have put into the text of the call, as the application gave it. */
  let inserted: Insertion[] = [];
  /** The call between `formatArgs` and `log`. */
  let pending: { readonly instance: unknown; readonly args: readonly unknown[] } | undefined;

  const caches = 'namespaces' in exports;
  let given = exports.namespaces;
  let variant = given;

  /** Makes instances of 4.3.4 and later ask again. */
  function invalidate(): void {
    if (!caches) return;
    if (exports.namespaces !== variant) given = exports.namespaces;
    variants += 1;
    variant = `${typeof given === 'string' ? given : ''}${separators(variants)}`;
    exports.namespaces = variant;
  }

  function namespacesChanged(): void {
    invalidate();
    for (const name of namespaces.keys()) follows(name, Boolean(isNative.call(exports, name)));
  }

  /** Returns a namespace's state, and makes it a category on first use. */
  function follow(name: string, native: boolean): Namespace | undefined {
    const known = namespaces.get(name);
    if (known !== undefined) return known;
    if (NOT_OF_APPLICATIONS.has(name) || ofEndpoint.has(name)) return undefined;
    if (namespaces.size >= MAX_NAMESPACES) letGo();
    if (namespaces.size >= MAX_NAMESPACES) return undefined;
    const category = adoption.category(name, { enabledByDefault: native, version });
    if (category === undefined) return undefined;
    const state: Namespace = { category, native, wanted: false, plain: new Set(), stop: () => {} };
    namespaces.set(name, state);
    // Called at once where it is wanted: the instance has not asked yet.
    category.onWanted((wanted) => {
      state.wanted = wanted;
    })();
    state.stop = category.onWanted((wanted) => {
      if (state.wanted === wanted) return;
      state.wanted = wanted;
      for (const plain of state.plain) setPlain(plain, wanted);
      invalidate();
    });
    return state;
  }

  /**
   * Forgets namespaces in the category of another one, as those made from data are: they are followed again once they are asked
   * for, and the other one makes them ask. Those with instances that do not ask stay.
   */
  function letGo(): void {
    const categories = new Set<AdoptedCategory>();
    for (const [name, { category, plain, stop }] of namespaces) {
      if (!categories.has(category)) categories.add(category);
      else if (plain.size === 0) {
        stop();
        namespaces.delete(name);
        hasLetGo = true;
      }
    }
  }

  /** Instances keep the answer. Those of the endpoint's libraries are made to ask again: it may be the application's call then. */
  function askLater(): void {
    askAgain ??= timers
      .setTimeout(() => {
        askAgain = undefined;
        invalidate();
      }, ASK_AGAIN_AFTER)
      .unref();
  }

  /** @param before whether it was on without adoption. @default what `debug` says of its namespace */
  function track(instance: DebugInstance, before?: boolean): void {
    const { namespace } = instance;
    if (typeof namespace !== 'string') return;
    const native = Boolean(isNative.call(exports, namespace));
    if (caches && !native && isOwnLoading() && !namespaces.has(namespace)) ofEndpoint.add(namespace);
    else ofEndpoint.delete(namespace);
    const state = follow(namespace, native);
    const property = Object.getOwnPropertyDescriptor(instance, 'enabled');
    if (state === undefined || property?.writable !== true) return;
    const plain: Plain = { instance: new WeakRef(instance), before: before ?? native, set: instance.enabled };
    state.plain.add(plain);
    collected.register(instance, () => state.plain.delete(plain));
    setPlain(plain, state.wanted);
  }

  function setPlain(plain: Plain, enabled: boolean): void {
    const instance = plain.instance.deref();
    if (instance === undefined || instance.enabled !== plain.set) return;
    instance.enabled = enabled;
    plain.set = enabled;
  }

  /** Whether a namespace is on that `DEBUG` has off: without us there would have been no line and no error. */
  function isOnByUs({ namespace }: DebugInstance): boolean {
    const state = active ? namespaces.get(namespace) : undefined;
    return state?.wanted === true && !state.native;
  }

  /** Redacts what is formatted, unless the line comes out by `DEBUG` alone. */
  function redactionFor({ namespace }: DebugInstance): ArgumentRedaction | undefined {
    const state = active ? namespaces.get(namespace) : undefined;
    if (state?.wanted !== true) return undefined;
    const { category, native } = state;
    return !native || category.decided || category.tapped ? category.redaction : undefined;
  }

  /** Returns `instead` if the work throws. */
  function contained(instance: DebugInstance, work: () => unknown, instead?: string): unknown {
    try {
      return work();
    } catch (error) {
      adoption.failed(error, namespaces.get(instance.namespace)?.category);
      return instead;
    }
  }

  const patches = {
    init(this: unknown, instance: DebugInstance, ...rest: unknown[]): unknown {
      const result: unknown = Reflect.apply(init ?? (() => undefined), this, [instance, ...rest]);
      if (active) attempt(() => track(instance));
      return result;
    },
    enabled(namespace: unknown): unknown {
      const native = isNative.call(exports, namespace);
      if (!active || typeof namespace !== 'string') return native;
      if (caches && exports.namespaces !== variant) {
        // `enable()` was called by a name that is not ours. What an instance keeps for its string must be the native answer.
        invalidate();
        follows(namespace, Boolean(native));
        return native;
      }
      if (ofEndpoint.has(namespace)) {
        if (!native && (isOwnLoading() || isOwnWork())) {
          askLater();
          return native;
        }
        ofEndpoint.delete(namespace);
        attempt(() => follow(namespace, Boolean(native)));
      }
      const state = follows(namespace, Boolean(native));
      state?.category.called();
      return state === undefined ? native : state.wanted;
    },
    /** Also called by `disable()`. Instances ask for the new string next, so it must be ours before they do. */
    enable(this: unknown, ...given: [unknown]): unknown {
      const result: unknown = Reflect.apply(enable, this, given);
      if (active && caches) attempt(() => namespacesChanged());
      return result;
    },
    coerce(value: unknown): unknown {
      template = value;
      inserted = [];
      try {
        template = coerce.call(exports, value);
      } catch {
        // An error whose stack cannot be read: a formatter gets it.
      }
      return template;
    },
    formatters: Object.isFrozen(formatters)
      ? formatters
      : new Proxy(formatters, {
          get(target, letter) {
            const formatter: unknown = Reflect.get(target, letter);
            if (typeof formatter !== 'function') return formatter;
            return function (this: DebugInstance, value: unknown) {
              inserted.push({ letter: `%${String(letter)}`, formatter: formatter as Formatter, value });
              const redaction = redactionFor(this);
              const format = () => Reflect.apply(formatter, this, [redaction ? redaction.value(value) : value]);
              return isOnByUs(this) ? contained(this, format, UNFORMATTABLE) : format();
            };
          },
        }),
    formatArgs(this: DebugInstance, args: unknown[], ...rest: unknown[]): unknown {
      pending = undefined;
      const redaction = redactionFor(this);
      // debug passes this very array on to its log.
      if (redaction !== undefined) args.splice(0, args.length, ...redaction.formatted(args));
      const state = active ? namespaces.get(this.namespace) : undefined;
      if (state?.wanted === true) {
        const { category, native } = state;
        const own = this.log ?? (exports.log === patches.log && writesToStderr ? undefined : exports.log);
        const writesItself = typeof own === 'function' || (native && !category.decided);
        if (!writesItself) {
          pending = { instance: this, args };
          return undefined;
        }
        const asItIs = redaction === undefined;
        const call = { template, inserted };
        const describe = () => described(this, asItIs ? redactedArgs(this, call, args, category.redaction) : args);
        if (!category.passes(String(args[0]).length, describe, native)) {
          replaceNextLog(this, () => undefined);
          return undefined;
        }
      }
      const result: unknown = Reflect.apply(formatNatively, this, [args, ...rest]);
      if (isOnByUs(this)) {
        const write = this.log ?? exports.log;
        replaceNextLog(this, (...line) => contained(this, () => Reflect.apply(write, this, line)));
      }
      return result;
    },
    log(this: unknown, ...args: unknown[]): unknown {
      const call = pending;
      pending = undefined;
      if (call === undefined || call.instance !== this) return Reflect.apply(writeNatively, this, args);
      const instance = this as DebugInstance;
      const category = namespaces.get(instance.namespace)?.category;
      if (category?.enabled === true) {
        const { message, attributes } = described(instance, call.args);
        category.debug(message, attributes);
      }
      return undefined;
    },
  };

  /** Follows the native state of a namespace, which is the default of its category. */
  function follows(name: string, native: boolean): Namespace | undefined {
    // Instances that were made before, and namespaces that were let go, are noticed when they ask.
    const state = namespaces.get(name) ?? (loadedBefore || hasLetGo ? attempt(() => follow(name, native)) : undefined);
    if (state !== undefined && state.native !== native) {
      state.native = native;
      state.category.setDefault(native);
    }
    return state;
  }

  function attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      adoption.failed(error);
      return undefined;
    }
  }

  Object.assign(exports, patches);
  invalidate();
  for (const instance of exports.instances ?? []) attempt(() => track(instance));
  for (const { instance, before } of unlisted.get(exports) ?? []) {
    const made = instance.deref();
    if (made !== undefined) attempt(() => track(made, before));
  }
  unlisted.delete(exports);

  return () => {
    active = false;
    timers.clearTimeout(askAgain);
    for (const name of PATCHED) {
      // A function that was put there after ours, and may call it, stays.
      if (exports[name] === patches[name]) putBack(exports, name, originals[name]);
    }
    for (const [name, state] of namespaces) {
      state.stop();
      const native = Boolean(isNative.call(exports, name));
      for (const plain of state.plain) setPlain(plain, exports.instances === undefined ? plain.before : native);
    }
    if (caches && exports.namespaces === variant) exports.namespaces = given;
    if (exports.instances === undefined) {
      unlisted.set(
        exports,
        [...namespaces.values()].flatMap(({ plain }) => [...plain]),
      );
    }
  };
}

function isInstance(logger: object): boolean {
  return (
    typeof logger === 'function' &&
    typeof Reflect.get(logger, 'namespace') === 'string' &&
    'enabled' in logger &&
    'useColors' in logger
  );
}

/** Adopts a single instance, whose lines come out where debug writes them. */
function adoptInstance(instance: DebugInstance, adoption: Adoption): (() => void) | undefined {
  // Undefined in 4.3.4 and later, where nothing was ever enabled.
  const native = Boolean(instance.enabled);
  const category = adoption.category(instance.namespace, { enabledByDefault: native });
  if (category === undefined) return undefined;
  const own = Object.getOwnPropertyDescriptor(instance, 'log');
  const write: Log = instance.log ?? ((...args) => process.stderr.write(`${formatLine(args)}\n`));
  const gated: Log = function (...given) {
    const [first, ...rest] = category.redaction.formatted(given);
    // Values of `%O` and the like were formatted out of our reach.
    const args = [typeof first === 'string' ? category.redaction.inspected(first) : first, ...rest];
    const text = formatLine(args);
    if (!category.passes(text.length, () => described(instance, args), native || undefined)) return undefined;
    try {
      return Reflect.apply(write, this, native && !category.decided ? given : args);
    } catch (error) {
      adoption.failed(error, category);
      return undefined;
    }
  };
  const isPlain = Object.getOwnPropertyDescriptor(instance, 'enabled')?.writable === true;
  instance.enabled = category.wanted;
  instance.log = gated;
  const stop = category.onWanted((wanted) => {
    instance.enabled = wanted;
  });
  return () => {
    stop();
    // `null` ends what was set on an instance of 4.3.4 and later.
    Reflect.set(instance, 'enabled', isPlain ? native : null);
    if (instance.log === gated) putBack(instance, 'log', own);
  };
}

/** The message and attributes of a call: arguments that no formatter has consumed are formatted, and kept. */
function described(instance: DebugInstance, args: readonly unknown[]) {
  const text = formatLine(args);
  const message = instance.useColors === true ? stripVTControlCharacters(text) : text;
  const rest = args.slice(1);
  return { message, attributes: { namespace: instance.namespace, ...(rest.length > 0 && { args: rest }) } };
}

/** What formatters insert into the first argument of a call: `%o`. `%%` is for `util.format`. */
const INSERTION = /%([a-zA-Z%])/g;

/** The arguments of a call as they come out of formatters that got redacted values. */
function redactedArgs(
  instance: DebugInstance,
  { template, inserted }: Call,
  args: readonly unknown[],
  redaction: ArgumentRedaction,
): readonly unknown[] {
  const left = [...inserted];
  const text = typeof template === 'string' ? template : '%O';
  const first = text.replace(INSERTION, (letter) => {
    const [next] = left;
    if (next?.letter !== letter) return letter;
    left.shift();
    return String(next.formatter.call(instance, redaction.value(next.value)));
  });
  return redaction.formatted([first, ...args.slice(1)]);
}

/** Replaces the log of an instance for one line: it is called next. */
function replaceNextLog(instance: DebugInstance, log: Log): void {
  const own = Object.getOwnPropertyDescriptor(instance, 'log');
  const once: Log = function (...args) {
    putBack(instance, 'log', own);
    return Reflect.apply(log, this, args);
  };
  Reflect.defineProperty(instance, 'log', { value: once, configurable: true, writable: true, enumerable: true });
}

function putBack(target: object, name: string, property: PropertyDescriptor | undefined): void {
  if (property === undefined) Reflect.deleteProperty(target, name);
  else Object.defineProperty(target, name, property);
}
