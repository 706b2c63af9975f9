import { LEVEL } from '../../gate/levels.ts';
import { decision, writeBehind } from '../decision.ts';
import { APPLICATION, errorOf, type LoggerAdopter } from '../loggers.ts';
import { Patches } from '../patches.ts';
import type { AdoptedCategory } from '../types.ts';

/** A logger of Nest, or of one of its adapters. */
interface NestLogger {
  readonly context?: unknown;
  readonly options?: { logLevels?: unknown };
}

interface Facade {
  /** The logger that it passes its lines to. */
  readonly localInstance?: unknown;
}

interface LoggerClass {
  readonly prototype: object;
  readonly logLevels?: unknown;
  readonly staticInstanceRef?: object;
  readonly logBuffer?: { methodRef(...args: unknown[]): unknown }[];
}

/** The exports of `@nestjs/common` that are used here. */
export interface NestCommon {
  readonly Logger: LoggerClass;
  readonly ConsoleLogger: { readonly prototype: object };
}

type Call = (this: unknown, ...args: unknown[]) => unknown;
type ContextOf = (logger: NestLogger, args: readonly unknown[]) => unknown;
/** Whether the logger writes a line of the level by itself; `undefined` where only the logger behind it knows. */
type Admits = (logger: unknown, level: string) => boolean | undefined;

const DEBUG_LEVELS = ['debug', 'verbose', 'trace'];
/**
 * Lines of these levels are let through where the logger's own levels hold them back, and dropped only where a control has a
 * higher level.
 */
const ORDINARY_LEVELS = ['log', 'info', 'warn', 'error', 'fatal'];
const ERROR_LEVELS = ['error', 'fatal'];
const LEVELS = [...DEBUG_LEVELS, ...ORDINARY_LEVELS];
/** Those that do not have their names among ours (`gate/levels.ts`). Nest's `verbose` is below `debug`. */
const RANKS: Readonly<Record<string, number>> = { ...LEVEL, verbose: LEVEL.trace, log: LEVEL.info, fatal: LEVEL.error };

const RECORDED = { front: 'seen', passes: undefined, isRecorded: true } as const;
const DECIDED = { front: 'decided', passes: undefined, isRecorded: true } as const;

/** Contexts that are remembered: the more, the likelier they are made from data. */
const MAX_CONTEXTS = 4096;

/** The categories of contexts, and the decision about one call of a logger with a context. */
abstract class ContextLoggers {
  readonly patches = new Patches();
  protected active = true;
  readonly #adopter: LoggerAdopter;
  readonly #categories = new Map<string, AdoptedCategory>();

  constructor(adopter: LoggerAdopter) {
    this.#adopter = adopter;
  }

  restore(): void {
    this.active = false;
    this.patches.restore();
  }

  /** Returns the category of a context, and registers it on first use. */
  protected category(context: unknown): AdoptedCategory | undefined {
    const known = this.#known(context);
    if (known !== undefined) return known;
    const name = nameOf(context);
    const category = this.#adopter.category(name, this.writesDebug());
    if (category !== undefined && this.#categories.size < MAX_CONTEXTS) this.#categories.set(name, category);
    return category;
  }

  #known(context: unknown): AdoptedCategory | undefined {
    return this.#categories.get(nameOf(context));
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
    const isError = ERROR_LEVELS.includes(level);
    const adopter = this.#adopter;
    this.patches.wrap<unknown>(target, level, (original) => {
      const method: Call = function (...args) {
        if (isError && loggers.active) adopter.workFailed(errorOf(args[0]));
        const category =
          loggers.active && decision.front === 'none' ? loggers.#categoryOf(this, level, contextOf, args) : undefined;
        const decided = category && loggers.#decide(this, category, level, args, admits);
        if (decided === 'drop') return undefined;
        const isOurs = decided === 'let through' || (decided === 'write' && category?.decided);
        const write = () => around(this, original, isOurs && category ? category.redaction.values(args) : args);
        if (typeof decided === 'object') return writeBehind(decided, write);
        if (decided === 'let through') return loggers.guard(() => writeBehind(DECIDED, write));
        return decided === 'write' ? writeBehind(DECIDED, write) : write();
      };
      return Object.defineProperty(method, 'name', { value: level, configurable: true });
    });
  }

  #categoryOf(
    logger: unknown,
    level: string,
    contextOf: ContextOf,
    args: readonly unknown[],
  ): AdoptedCategory | undefined {
    try {
      const context = contextOf(logger as NestLogger, args);
      // The last text that `error()` gets may be a stack.
      return DEBUG_LEVELS.includes(level) ? this.category(context) : this.#known(context);
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
  ): 'write' | 'let through' | 'drop' | 'as it is' | Readonly<typeof decision> {
    try {
      const { decided } = category;
      const isDebug = DEBUG_LEVELS.includes(level);
      if (!category.wanted) return decided && isDebug ? 'drop' : 'as it is';
      const admitted = admits(logger, level);
      const rank = RANKS[level]!;
      if (!isDebug && admitted !== false && category.holdsBack(rank)) return 'drop';
      if (admitted === true && !isDebug) return 'as it is';
      const [message] = args;
      const text = typeof message === 'string' ? message : '';
      if (admitted === false && isDebug && category.onlyRecorded && isText(args)) {
        category.record(text, undefined, rank);
        return RECORDED;
      }
      const described = () => describe(category.redaction.values(args));
      const { recorded: isRecorded } = category;
      const passes = () => category.passes(text.length + 64, described, admitted === true, rank);
      if (!isDebug && admitted === undefined) return { front: decided ? 'decided' : 'seen', passes, isRecorded };
      if (passes()) return admitted ? 'write' : 'let through';
      return decided && isDebug ? 'drop' : { front: 'seen', passes: undefined, isRecorded };
    } catch (error) {
      this.#adopter.failed(error, category);
      return 'as it is';
    }
  }

  /** Runs work that would not have been done without us: the application must not notice an error of it. */
  protected guard(work: () => unknown): unknown {
    try {
      return work();
    } catch (error) {
      this.#adopter.failed(error);
      return undefined;
    }
  }
}

/** The loggers of one copy of `@nestjs/common`: the facade `Logger`, and `ConsoleLogger` with its subclasses. */
export class NestCopy extends ContextLoggers {
  readonly #Logger: LoggerClass;
  #writing = false;
  /** Prototypes that register the contexts of their loggers. */
  readonly #registering: object[] = [];
  /** The prototype of `ConsoleLogger`. */
  readonly #console: object;
  /** `ConsoleLogger`'s own, which asks no category. */
  readonly #isLevelEnabled: Call;

  constructor({ Logger, ConsoleLogger }: NestCommon, adopter: LoggerAdopter) {
    super(adopter);
    this.#Logger = Logger;
    this.#console = ConsoleLogger.prototype;
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
    this.patches.around(Logger, 'overrideLogger', (_logger, _args, proceed) => {
      const result = proceed();
      if (this.active) this.guard(() => this.defaultsChanged());
      return result;
    });
  }

  protected override writesDebug(): boolean {
    return this.#admits(this.#Logger.staticInstanceRef, 'debug') === true;
  }

  #admits(logger: unknown, level: string): boolean | undefined {
    if (typeof logger !== 'object' || logger === null) return false;
    const { options } = logger as NestLogger;
    const unset = options?.logLevels === undefined;
    // What an object of another kind answers need not be what it writes.
    if (unset && !Object.prototype.isPrototypeOf.call(this.#console, logger)) return undefined;
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
    const made = { ...decision };
    if (made.front === 'none' || kept === undefined || logBuffer?.length === before) return result;
    const { methodRef } = kept;
    kept.methodRef = (...given) =>
      this.active ? this.guard(() => writeBehind(made, () => methodRef(...given))) : methodRef(...given);
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
    this.patches.around<NestLogger>(prototype, 'isLevelEnabled', (logger, [level], proceed) => {
      const admitted = proceed() as boolean;
      if (!this.active || !LEVELS.includes(level as string)) return admitted;
      if (decision.front === 'decided') return true;
      if (this.#writing || typeof logger.context !== 'string') return admitted;
      const rank = RANKS[level as string]!;
      const category = this.category(logger.context);
      if (admitted && !DEBUG_LEVELS.includes(level as string)) return category?.holdsBack(rank) !== true;
      return category?.allows(admitted, rank) ?? admitted;
    });
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
    for (const level of LEVELS) this.gate(prototype, level, contextOf, () => undefined);
    this.patches.around(prototype, 'setContext', (_logger, [context], proceed) => {
      if (this.active) this.guard(() => this.category(context));
      return proceed();
    });
  }
}

const nameOf = (context: unknown) => (typeof context === 'string' && context !== '' ? context : APPLICATION);

/** The context that a logger was made with. */
export const ownContext: ContextOf = ({ context }) => context;

/** The last argument, if it is a second text; else the logger's own context. */
export const givenContext: ContextOf = ({ context }, args) => {
  const last = args.at(-1);
  return args.length > 1 && typeof last === 'string' ? last : context;
};

/** Whether a call has no more than a text, and perhaps a context. */
function isText(args: readonly unknown[]): boolean {
  return args.length <= 2 && args.every((each) => typeof each === 'string');
}

function describe(args: readonly unknown[]): { message: string; attributes?: Record<string, string> } {
  const [message, ...rest] = args;
  const last = rest.at(-1);
  if (typeof last === 'string') rest.pop();
  const attributes: Record<string, unknown> = {};
  if (typeof message === 'object' && message !== null) Object.assign(attributes, message);
  for (const each of rest) if (typeof each === 'object' && each !== null) Object.assign(attributes, each);
  return { message: typeof message === 'string' ? message : '', attributes: attributes as Record<string, string> };
}
