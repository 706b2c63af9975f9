import { stripVTControlCharacters } from 'node:util';
import type { ArgumentRedaction } from '../../calls/emit/arguments.ts';
import { formatLine, UNFORMATTABLE } from '../../calls/emit/formatting.ts';
import type { AdoptedCategory } from '../category.ts';
import { Patches } from '../patches.ts';
import type { Adoption, LibraryCopy } from '../types.ts';
import type { LoggerLine } from '../verdict.ts';
import type { DebugExports, DebugInstance, Formatter, Log } from './exports.ts';
import { Namespaces } from './namespaces.ts';

/** A formatter that a call has used, by what stands for it in the text, such as `%o`. */
interface Use {
  readonly letter: string;
  readonly formatter: Formatter;
}

/** A call before it was formatted. */
interface Call {
  /** The first argument. */
  readonly template: unknown;
  readonly uses: Use[];
  /** What the formatters got. */
  readonly values: unknown[];
}

/** debug's own formatters, or what replaces them. Others of the application may depend on the moment. */
const OWN_FORMATTERS = ['%o', '%O'];

/**
 * One copy of the package `debug`. A call of an instance that is on passes `coerce`, the formatters, `formatArgs` and `log`. Its
 * line goes to our outputs, unless `DEBUG` alone has the namespace on, or the application has a `log` of its own.
 */
export class DebugCopy {
  readonly #exports: DebugExports;
  readonly #adoption: Adoption;
  readonly #namespaces: Namespaces;
  readonly #patches = new Patches();
  readonly #standIn = new Patches();
  /** Otherwise the application has replaced it, and its function gets the lines. */
  readonly #writesToStderr: boolean;
  /** What takes the place of `log`. */
  #log: Log | undefined;
  /** What takes the place of `formatArgs`. */
  #formatArgs: DebugExports['formatArgs'] | undefined;
  /** While it is called by a function that the application has put in its place. */
  #isWithin = false;
  #active = true;
  /** The call that is made. */
  #call: Call = { template: undefined, uses: [], values: [] };
  /** A line for our outputs, between `formatArgs` and `log`. */
  #pending: { readonly instance: unknown; readonly line: LoggerLine } | undefined;

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
    // The first that debug calls for a line.
    this.#replace('coerce', (value: unknown) => {
      this.#standInForFormatArgs();
      this.#call = { template: coerced(() => coerce.call(this.#exports, value), value), uses: [], values: [] };
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
    this.#formatArgs = function (this: DebugInstance, args: unknown[], ...rest: unknown[]): unknown {
      const formatNatively = () => Reflect.apply(formatArgs, this, [args, ...rest]);
      return copy.#isWithin ? formatNatively() : copy.#format(this, args, formatNatively);
    };
    this.#replace('formatArgs', this.#formatArgs);
    this.#log = function (...args) {
      const pending = copy.#pending;
      copy.#pending = undefined;
      if (pending === undefined || pending.instance !== this) return Reflect.apply(log, this, args);
      copy.#emit(this as DebugInstance, pending.line);
      return undefined;
    };
    this.#replace('log', this.#log);
    this.#namespaces.start();
  }

  stop(): void {
    this.#active = false;
    this.#standIn.restore();
    this.#patches.restore();
    this.#namespaces.stop();
  }

  #replace(name: keyof DebugExports, replacement: unknown): void {
    this.#patches.replace(this.#exports, name, replacement);
  }

  /** Where the application has replaced `formatArgs`, takes its place for one line: it would write one that is not its own. */
  #standInForFormatArgs(): void {
    const copy = this;
    this.#standIn.restore();
    const { formatArgs } = this.#exports;
    if (formatArgs === this.#formatArgs) return;
    this.#standIn.replace(this.#exports, 'formatArgs', function (this: DebugInstance, ...given: [unknown[]]): unknown {
      copy.#standIn.restore();
      return copy.#format(this, given[0], () => {
        copy.#isWithin = true;
        try {
          return Reflect.apply(formatArgs, this, given);
        } finally {
          copy.#isWithin = false;
        }
      });
    });
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
    return native === false || category?.decided || category?.gated.tapped ? category?.redaction : undefined;
  }

  #formatter(letter: string, formatter: unknown): unknown {
    if (typeof formatter !== 'function') return formatter;
    const copy = this;
    return function (this: DebugInstance, value: unknown) {
      copy.#call.uses.push({ letter: `%${letter}`, formatter: formatter as Formatter });
      copy.#call.values.push(value);
      const isForced = copy.#isForced(this);
      // It is formatted when the line leaves.
      if (isForced && copy.#stateOf(this)?.category.gated.onlyRecorded) return `%${letter}`;
      const redaction = copy.#redactionFor(this);
      const format = () => Reflect.apply(formatter, this, [redaction ? redaction.value(value) : value]);
      return isForced ? copy.#contained(this, format, UNFORMATTABLE) : format();
    };
  }

  #format(instance: DebugInstance, args: unknown[], formatNatively: () => unknown): unknown {
    this.#pending = undefined;
    const state = this.#stateOf(instance);
    const { category, native } = state ?? {};
    const redaction = native === false && category?.gated.onlyRecorded ? undefined : this.#redactionFor(instance);
    // debug passes this very array on to its log.
    if (redaction !== undefined) args.splice(0, args.length, ...redaction.formatted(args));
    if (category !== undefined) {
      const line: LoggerLine = {
        ...(redaction === undefined ? unformatted(instance, this.#call, args, category) : formatted(instance, args)),
        bytes: String(args[0]).length,
        reach: native ? 'open' : 'withheld',
      };
      const writesItself = this.#hasOwnLog(instance) || (native && !category.decided);
      if (!writesItself) {
        this.#pending = { instance, line };
        return undefined;
      }
      if (!category.passes(line)) {
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

  #emit(instance: DebugInstance, line: LoggerLine): void {
    const category = this.#namespaces.of(instance)?.category;
    if (category?.enabled) category.write(line);
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

type Description = Pick<LoggerLine, 'given' | 'describe' | 'isTimeless'>;

/** Describes a call whose arguments were redacted, and the first ones formatted. */
function formatted(instance: DebugInstance, args: readonly unknown[]): Description {
  return { given: args, describe: (shown) => describe(instance, shown), isTimeless: true };
}

/** Describes a call as it comes out of formatters that get redacted values. */
function unformatted(
  instance: DebugInstance,
  { template, uses, values }: Call,
  args: readonly unknown[],
  { redaction }: AdoptedCategory,
): Description {
  const text = typeof template === 'string' ? template : '%O';
  return {
    // In one list: the recorder copies nested ones with care.
    given: [text, ...values, ...args],
    describe: (given) => describe(instance, redactedArgs(instance, uses, given, redaction)),
    isTimeless: uses.every(({ letter }) => OWN_FORMATTERS.includes(letter)),
  };
}

function redactedArgs(
  instance: DebugInstance,
  uses: readonly Use[],
  given: readonly unknown[],
  redaction: ArgumentRedaction,
): readonly unknown[] {
  const values = given.slice(1, 1 + uses.length);
  const [formatted, ...rest] = given.slice(1 + uses.length);
  // Versions differ in what they make of it.
  const percent = String(formatted).includes('%%') ? '%%' : '%';
  let used = 0;
  const first = String(given[0]).replace(INSERTION, (letter) => {
    if (letter === '%%') return percent;
    const use = uses[used];
    if (use?.letter !== letter) return letter;
    used += 1;
    return formattedBy(use.formatter, instance, redaction.value(values[used - 1]));
  });
  return redaction.formatted([first, ...rest]);
}

function formattedBy(formatter: Formatter, instance: DebugInstance, value: unknown): string {
  try {
    return String(formatter.call(instance, value));
  } catch {
    return UNFORMATTABLE;
  }
}

/** Replaces the log of an instance for one line: it is called next. */
function replaceNextLog(instance: DebugInstance, log: Log): void {
  const patches = new Patches();
  patches.replace(instance, 'log', function (this: unknown, ...args: unknown[]) {
    patches.restore();
    return Reflect.apply(log, this, args);
  });
}
