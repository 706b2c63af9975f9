import { stripVTControlCharacters } from 'node:util';
import type { ArgumentRedaction } from '../../calls/emit/arguments.ts';
import { formatLine, UNFORMATTABLE } from '../../calls/emit/formatting.ts';
import { Patches } from '../patches.ts';
import type { Adoption, LibraryCopy } from '../types.ts';
import type { DebugExports, DebugInstance, Formatter, Log } from './exports.ts';
import { Namespaces } from './namespaces.ts';

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
  readonly inserted: Insertion[];
}

/**
 * One copy of the package `debug`. A call of an instance that is on passes `coerce`, the formatters, `formatArgs` and `log`. Its
 * line goes to our outputs, unless `DEBUG` alone has the namespace on, or the application has a `log` of its own.
 */
export class DebugCopy {
  readonly #exports: DebugExports;
  readonly #adoption: Adoption;
  readonly #namespaces: Namespaces;
  readonly #patches = new Patches();
  /** Otherwise the application has replaced it, and its function gets the lines. */
  readonly #writesToStderr: boolean;
  /** What takes the place of `log`. */
  #log: Log | undefined;
  #active = true;
  /** The call that is made. */
  #call: Call = { template: undefined, inserted: [] };
  /** A line for our outputs, between `formatArgs` and `log`. */
  #pending: { readonly instance: unknown; readonly args: readonly unknown[] } | undefined;

  constructor(exports: DebugExports, copy: LibraryCopy, adoption: Adoption) {
    this.#exports = exports;
    this.#adoption = adoption;
    this.#namespaces = new Namespaces(exports, copy, adoption);
    this.#writesToStderr = /\.write\(/.test(Function.prototype.toString.call(exports.log));
  }

  start(): void {
    const copy = this;
    const { init, enabled, enable, coerce, formatters, formatArgs, log } = this.#exports;
    this.#replace('init', function (this: unknown, instance: DebugInstance, ...rest: unknown[]): unknown {
      const result: unknown = init && Reflect.apply(init, this, [instance, ...rest]);
      if (copy.#active) copy.#namespaces.track(instance);
      return result;
    });
    this.#replace('enabled', (namespace: unknown) => {
      const isOurs = this.#active && typeof namespace === 'string';
      return isOurs ? this.#namespaces.isOn(namespace) : enabled.call(this.#exports, namespace);
    });
    // Also called by `disable()`.
    this.#replace('enable', function (this: unknown, ...given: [unknown]): unknown {
      const result: unknown = Reflect.apply(enable, this, given);
      if (copy.#active) copy.#namespaces.changed();
      return result;
    });
    this.#replace('coerce', (value: unknown) => {
      this.#call = { template: coerced(() => coerce.call(this.#exports, value), value), inserted: [] };
      return this.#call.template;
    });
    if (!Object.isFrozen(formatters)) {
      this.#replace(
        'formatters',
        new Proxy(formatters, {
          get: (target, letter) => this.#formatter(String(letter), Reflect.get(target, letter)),
        }),
      );
    }
    this.#replace('formatArgs', function (this: DebugInstance, args: unknown[], ...rest: unknown[]): unknown {
      return copy.#format(this, args, () => Reflect.apply(formatArgs, this, [args, ...rest]));
    });
    this.#log = function (...args) {
      const pending = copy.#pending;
      copy.#pending = undefined;
      if (pending === undefined || pending.instance !== this) return Reflect.apply(log, this, args);
      copy.#emit(this as DebugInstance, pending.args);
      return undefined;
    };
    this.#replace('log', this.#log);
    this.#namespaces.start();
  }

  stop(): void {
    this.#active = false;
    this.#patches.restore();
    this.#namespaces.stop();
  }

  #replace(name: keyof DebugExports, replacement: unknown): void {
    this.#patches.replace(this.#exports, name, replacement);
  }

  /** The state of an instance's namespace while its lines may be ours. */
  #stateOf(instance: DebugInstance) {
    const state = this.#active ? this.#namespaces.of(instance) : undefined;
    return state?.isOn === true ? state : undefined;
  }

  /** Whether a namespace is on that `DEBUG` has off: without us there would have been no line and no error. */
  #isForced(instance: DebugInstance): boolean {
    return this.#stateOf(instance)?.native === false;
  }

  /** Redacts what is formatted, unless the line comes out by `DEBUG` alone. */
  #redactionFor(instance: DebugInstance): ArgumentRedaction | undefined {
    const { native, category } = this.#stateOf(instance) ?? {};
    return native === false || category?.decided || category?.tapped ? category?.redaction : undefined;
  }

  #formatter(letter: string, formatter: unknown): unknown {
    if (typeof formatter !== 'function') return formatter;
    const copy = this;
    return function (this: DebugInstance, value: unknown) {
      copy.#call.inserted.push({ letter: `%${letter}`, formatter: formatter as Formatter, value });
      const redaction = copy.#redactionFor(this);
      const format = () => Reflect.apply(formatter, this, [redaction ? redaction.value(value) : value]);
      return copy.#isForced(this) ? copy.#contained(this, format, UNFORMATTABLE) : format();
    };
  }

  #format(instance: DebugInstance, args: unknown[], formatNatively: () => unknown): unknown {
    this.#pending = undefined;
    const redaction = this.#redactionFor(instance);
    // debug passes this very array on to its log.
    if (redaction !== undefined) args.splice(0, args.length, ...redaction.formatted(args));
    const state = this.#stateOf(instance);
    if (state !== undefined) {
      const { category, native } = state;
      const writesItself = this.#hasOwnLog(instance) || (native && !category.decided);
      if (!writesItself) {
        this.#pending = { instance, args };
        return undefined;
      }
      const call = this.#call;
      const shown = () => (redaction === undefined ? redactedArgs(instance, call, args, category.redaction) : args);
      const passes = category.passes({
        bytes: String(args[0]).length,
        reach: native ? 'open' : 'withheld',
        describe: () => describe(instance, shown()),
      });
      if (!passes) {
        replaceNextLog(instance, () => undefined);
        return undefined;
      }
    }
    const result = formatNatively();
    if (this.#isForced(instance)) {
      const write = instance.log ?? this.#exports.log;
      replaceNextLog(instance, (...line) => this.#contained(instance, () => Reflect.apply(write, instance, line)));
    }
    return result;
  }

  /** Whether the application has a function of its own for the lines of an instance, or for all. */
  #hasOwnLog({ log }: DebugInstance): boolean {
    return typeof log === 'function' || !this.#writesToStderr || this.#exports.log !== this.#log;
  }

  #emit(instance: DebugInstance, args: readonly unknown[]): void {
    const category = this.#namespaces.of(instance)?.category;
    if (category?.enabled !== true) return;
    const { message, attributes } = describe(instance, args);
    category.debug(message, attributes);
  }

  /** Returns `instead` if the work throws. */
  #contained(instance: DebugInstance, work: () => unknown, instead?: string): unknown {
    try {
      return work();
    } catch (error) {
      this.#adoption.failed(error, this.#namespaces.of(instance)?.category);
      return instead;
    }
  }
}

function coerced(coerce: () => unknown, value: unknown): unknown {
  try {
    return coerce();
  } catch {
    // An error whose stack cannot be read: a formatter gets it.
    return value;
  }
}

/** The message and attributes of a call: arguments that no formatter has consumed are formatted, and kept. */
export function describe(instance: DebugInstance, args: readonly unknown[]) {
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
  const patches = new Patches();
  patches.replace(instance, 'log', function (this: unknown, ...args: unknown[]) {
    patches.restore();
    return Reflect.apply(log, this, args);
  });
}
