import { decision, writeDecided } from './decision.ts';
import { APPLICATION, type LoggerAdopter, undescribed } from './loggers.ts';
import { Patches } from './patches.ts';
import type { AdoptedCategory } from './types.ts';

/** A logger of Nest, or of one of its adapters. */
interface NestLogger {
  readonly context?: unknown;
  readonly contextName?: unknown;
  readonly options?: { logLevels?: unknown };
  isLevelEnabled?(level: string): boolean;
}

interface Facade {
  /** The logger that it passes its lines to. */
  readonly localInstance?: unknown;
}

interface LoggerClass {
  readonly prototype: object;
  readonly logLevels?: unknown;
  readonly staticInstanceRef?: object;
  readonly isBufferAttached?: boolean;
  readonly logBuffer?: { methodRef(...args: unknown[]): unknown }[];
}

/** What `@nestjs/common` exports, as far as it is used here. */
export interface NestCommon {
  readonly Logger: LoggerClass;
  readonly ConsoleLogger: { readonly prototype: object };
}

type Call = (this: unknown, ...args: unknown[]) => unknown;
/** @param count of the call's arguments. @param last of them */
type ContextOf = (logger: NestLogger, count: number, last: unknown) => unknown;
/** Whether the logger writes a line of the level by itself; `undefined` where only the logger behind it knows. */
type Admits = (logger: unknown, level: string) => boolean | undefined;

const LEVELS = ['debug', 'verbose'] as const;

/** Whether the taps have got the line that is passed on from one logger of Nest to the next. */
let seen = false;

function writeSeen<T>(write: () => T): T {
  seen = true;
  try {
    return write();
  } finally {
    seen = false;
  }
}

/** The categories of contexts, and the decision about one call of a logger with a context. */
abstract class ContextLoggers {
  readonly patches = new Patches();
  protected active = true;
  readonly #adopter: LoggerAdopter;
  readonly #categories = new Map<string, AdoptedCategory>();
  /** The context that was asked for last, and its category: a class often logs several lines in a row. */
  #last: unknown;
  #lastCategory: AdoptedCategory | undefined;

  constructor(adopter: LoggerAdopter) {
    this.#adopter = adopter;
  }

  restore(): void {
    this.active = false;
    this.patches.restore();
  }

  /** Registers the category of a context. */
  protected category(context: unknown): AdoptedCategory | undefined {
    if (context === this.#last && this.#lastCategory !== undefined) return this.#lastCategory;
    const category = this.#lookUp(context);
    this.#last = context;
    this.#lastCategory = category;
    return category;
  }

  #lookUp(context: unknown): AdoptedCategory | undefined {
    const name = typeof context === 'string' && context !== '' ? context : APPLICATION;
    const known = this.#categories.get(name);
    if (known !== undefined) return known;
    const category = this.#adopter.category(name, this.writesDebug());
    if (category !== undefined) this.#categories.set(name, category);
    return category;
  }

  protected defaultsChanged(): void {
    const enabled = this.writesDebug();
    for (const category of this.#categories.values()) category.setDefault(enabled);
  }

  /** Whether debug lines are written while no control decides. */
  protected writesDebug(): boolean {
    return false;
  }

  /**
   * Gates a method.
   * @param around calls the original
   */
  protected gate(
    target: object,
    level: string,
    contextOf: ContextOf,
    admits: Admits,
    around: (logger: unknown, original: Call, args: unknown[]) => unknown = (logger, original, args) =>
      original.apply(logger, args),
  ): void {
    const loggers = this;
    this.patches.wrap<unknown>(target, level, (original) => {
      const gated: Call = function (...args) {
        if (!loggers.active || decision.taken || seen) return around(this, original, args);
        const category = loggers.#categoryOf(this, contextOf, args.length, args.at(-1));
        if (category === undefined) return around(this, original, args);
        const decided = loggers.#decide(this, category, level, args, admits);
        if (decided === 'drop') return undefined;
        const write = () => around(this, original, args);
        if (decided === 'as it is') return write();
        return decided === 'write' ? writeDecided(write) : writeSeen(write);
      };
      // V8 makes no array of arguments whose elements are read, or that are passed on by `apply`, and nothing else.
      const method: Call = function (...args) {
        if (!loggers.active || decision.taken || seen) return gated.apply(this, args);
        const category = loggers.#categoryOf(this, contextOf, args.length, args[args.length - 1]);
        if (category === undefined || category.wanted) return gated.apply(this, args);
        return category.decided ? undefined : original.apply(this, args);
      };
      return Object.defineProperty(method, 'name', { value: level, configurable: true });
    });
  }

  #categoryOf(logger: unknown, contextOf: ContextOf, count: number, last: unknown): AdoptedCategory | undefined {
    try {
      return this.category(contextOf(logger as NestLogger, count, last));
    } catch (error) {
      this.#adopter.failed(error);
      return undefined;
    }
  }

  #decide(
    logger: unknown,
    category: AdoptedCategory,
    level: string,
    args: unknown[],
    admits: Admits,
  ): 'write' | 'drop' | 'seen' | 'as it is' {
    try {
      const { decided } = category;
      if (!category.wanted) return decided ? 'drop' : 'as it is';
      const admitted = admits(logger, level);
      if (!decided && admitted === undefined) return 'as it is';
      const [message] = args;
      const text = typeof message === 'string' ? message : '';
      const described = category.tapped ? () => describe(args) : undescribed;
      const passes = category.passes(text, described, text.length + 64, admitted === true);
      if (decided) return passes ? 'write' : 'drop';
      return admitted ? 'write' : 'seen';
    } catch (error) {
      this.#adopter.failed(error, category);
      return 'as it is';
    }
  }

  protected guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#adopter.failed(error);
    }
  }
}

/** The loggers of one copy of `@nestjs/common`: the facade `Logger`, and `ConsoleLogger` with its subclasses. */
export class NestCopy extends ContextLoggers {
  readonly #Logger: LoggerClass;
  #writing = false;
  /** Prototypes that register the contexts of their loggers. */
  readonly #registering: object[] = [];
  /** `ConsoleLogger`'s own, which asks no category. */
  readonly #isLevelEnabled: Call;

  constructor({ Logger, ConsoleLogger }: NestCommon, adopter: LoggerAdopter) {
    super(adopter);
    this.#Logger = Logger;
    this.#isLevelEnabled = Reflect.get(ConsoleLogger.prototype, 'isLevelEnabled');
    for (const level of LEVELS) {
      const behind: Admits = (logger) => this.#admits((logger as Facade).localInstance, level);
      const behindAll: Admits = () => this.#admits(Logger.staticInstanceRef, level);
      this.gate(Logger.prototype, level, ownContext, behind, this.#buffered);
      this.gate(Logger, level, givenContext, behindAll, this.#buffered);
      this.gate(ConsoleLogger.prototype, level, givenContext, (logger) => this.#admits(logger, level), this.#consoled);
    }
    this.#register(Logger.prototype);
    this.#register(ConsoleLogger.prototype);
    this.#openConsole(ConsoleLogger.prototype);
    const copy = this;
    this.patches.wrap<unknown>(
      Logger,
      'overrideLogger',
      (original) =>
        function overrideLogger(this: unknown, ...args: unknown[]) {
          const result = original.apply(this, args);
          if (copy.active) copy.guard(() => copy.defaultsChanged());
          return result;
        },
    );
  }

  protected override writesDebug(): boolean {
    return this.#admits(this.#Logger.staticInstanceRef, 'debug') === true;
  }

  #admits(logger: unknown, level: string): boolean | undefined {
    if (typeof logger !== 'object' || logger === null) return false;
    const { isLevelEnabled, options } = logger as NestLogger;
    if (typeof isLevelEnabled !== 'function') return undefined;
    const unset = options?.logLevels === undefined;
    const admitted = this.#isLevelEnabled.call(logger, level) as boolean;
    // Nest 12 keeps what NEST_LOG_LEVEL says at the first question. The application may load it from a file later.
    if (unset && options?.logLevels !== undefined) options.logLevels = undefined;
    return admitted;
  }

  /** A line that is kept until the application has chosen its logger is decided when it is written. */
  readonly #buffered = (logger: unknown, original: Call, args: unknown[]): unknown => {
    const { logBuffer } = this.#Logger;
    const before = logBuffer?.length;
    const result = original.apply(logger, args);
    const kept = logBuffer?.at(-1);
    if (!decision.taken || kept === undefined || logBuffer?.length === before) return result;
    const { methodRef } = kept;
    kept.methodRef = (...given) => (this.active ? writeDecided(() => methodRef(...given)) : methodRef(...given));
    return result;
  };

  /** The level that `ConsoleLogger` itself asks for is its own. */
  readonly #consoled = (logger: unknown, original: Call, args: unknown[]): unknown => {
    const before = this.#writing;
    this.#writing = true;
    try {
      return original.apply(logger, args);
    } finally {
      this.#writing = before;
    }
  };

  /** Registers a context as soon as a logger gets it: the constructor assigns it. */
  #register(prototype: object): void {
    const copy = this;
    if (Object.hasOwn(prototype, 'context')) return;
    this.#registering.push(prototype);
    Object.defineProperty(prototype, 'context', {
      configurable: true,
      enumerable: false,
      get: () => undefined,
      set(this: object, context: unknown) {
        Object.defineProperty(this, 'context', {
          value: context,
          writable: true,
          enumerable: true,
          configurable: true,
        });
        if (context !== undefined) copy.guard(() => copy.category(context));
      },
    });
  }

  /** Lets lines that are decided pass the levels of a `ConsoleLogger`, and tells guards the truth. */
  #openConsole(prototype: object): void {
    const copy = this;
    this.patches.wrap<NestLogger>(
      prototype,
      'isLevelEnabled',
      (original) =>
        function isLevelEnabled(this: NestLogger, ...args: unknown[]) {
          const admitted = original.apply(this, args) as boolean;
          const [level] = args;
          if (!copy.active || !LEVELS.includes(level as 'debug')) return admitted;
          if (decision.taken) return true;
          if (copy.#writing || typeof this.context !== 'string') return admitted;
          return copy.category(this.context)?.allows(admitted) ?? admitted;
        },
    );
  }

  override restore(): void {
    super.restore();
    for (const prototype of this.#registering) Reflect.deleteProperty(prototype, 'context');
  }
}

/** The loggers of an adapter, such as nestjs-pino's `PinoLogger`, where they are used without Nest's facade. */
export class NestAdapterCopy extends ContextLoggers {
  /** @param contextOf the context of a call */
  constructor({ prototype }: { readonly prototype: object }, contextOf: ContextOf, adopter: LoggerAdopter) {
    super(adopter);
    for (const level of ['debug', 'verbose', 'trace']) this.gate(prototype, level, contextOf, () => undefined);
    const copy = this;
    this.patches.wrap<unknown>(
      prototype,
      'setContext',
      (original) =>
        function setContext(this: unknown, ...args: unknown[]) {
          if (copy.active) copy.guard(() => copy.category(args[0]));
          return original.apply(this, args);
        },
    );
  }
}

/** The context that a logger was made with. */
export const ownContext: ContextOf = ({ context }) => context;

/** The last argument, if it is a second text; else the logger's own context. */
export const givenContext: ContextOf = ({ context }, count, last) =>
  count > 1 && typeof last === 'string' ? last : context;

function describe(args: readonly unknown[]): { message: string; attributes?: Record<string, string> } {
  const [message, ...rest] = args;
  const last = rest.at(-1);
  if (typeof last === 'string') rest.pop();
  const attributes: Record<string, unknown> = {};
  if (typeof message === 'object' && message !== null) Object.assign(attributes, message);
  for (const each of rest) if (typeof each === 'object' && each !== null) Object.assign(attributes, each);
  return { message: typeof message === 'string' ? message : '', attributes: attributes as Record<string, string> };
}
