import { LEVEL } from '../../gate/levels.ts';
import type { AdoptedCategory } from '../category.ts';
import { DECIDED, type Front, inFront, writeBehind } from '../front.ts';
import { APPLICATION, errorOf, type LoggerAdopter } from '../loggers.ts';
import { Patches } from '../patches.ts';
import type { LoggerCall, Reach, Verdict } from '../verdict.ts';

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
/** Methods of a class or an object that are gated. */
interface Gated {
  readonly target: object;
  readonly contextOf: ContextOf;
  /** @param level name of the method */
  readonly reachOf: (logger: unknown, level: string) => Reach;
  /** Calls the original. @default it does no more */
  readonly call?: (logger: unknown, original: Call, args: unknown[]) => unknown;
}

const DEBUG_LEVELS = ['debug', 'verbose', 'trace'];
const ERROR_LEVELS = ['error', 'fatal'];
const LEVELS = [...DEBUG_LEVELS, 'log', 'info', 'warn', ...ERROR_LEVELS];
/** Those that do not have their names among ours (`gate/levels.ts`). Nest's `verbose` is below `debug`. */
const RANKS: Readonly<Record<string, number>> = { ...LEVEL, verbose: LEVEL.trace, log: LEVEL.info, fatal: LEVEL.error };

const callOriginal: NonNullable<Gated['call']> = (logger, original, args) => original.apply(logger, args);

/** A call of a logger whose category is wanted. */
interface Line {
  readonly category: AdoptedCategory;
  readonly level: string;
  readonly args: unknown[];
  readonly reach: () => Reach;
  readonly write: (args: unknown[]) => unknown;
}

/** The line was given to taps, and may be recorded; the logger behind decides by its own levels and category. */
const SEEN: Front = { isDecided: false, isRecorded: false, letsOut: () => false };
const RECORDED: Front = { ...SEEN, isRecorded: true };

/** Contexts that are remembered: the more, the likelier they are made from data. */
const MAX_CONTEXTS = 4096;

/** The categories of contexts, and the verdict about each call of a logger with a context. */
abstract class ContextLoggers {
  readonly patches = new Patches();
  protected active = true;
  protected readonly adopter: LoggerAdopter;
  readonly #categories = new Map<string, AdoptedCategory>();

  constructor(adopter: LoggerAdopter) {
    this.adopter = adopter;
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
    const category = this.adopter.category(name, this.writesDebug());
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

  protected gate({ target, contextOf, reachOf, call = callOriginal }: Gated): void {
    for (const level of LEVELS) {
      const isError = ERROR_LEVELS.includes(level);
      this.patches.wrap<unknown>(target, level, (original) => {
        const loggers = this;
        const method: Call = function (...args) {
          if (!loggers.active) return original.apply(this, args);
          if (isError) loggers.adopter.workFailed(errorOf(args[0]));
          const category = inFront() === undefined ? loggers.#categoryOf(this, level, contextOf, args) : undefined;
          if (category?.wanted) {
            const reach = () => reachOf(this, level);
            return loggers.#log({ category, level, args, reach, write: (given) => call(this, original, given) });
          }
          const isDropped = category?.decided && DEBUG_LEVELS.includes(level);
          return isDropped ? undefined : call(this, original, args);
        };
        return Object.defineProperty(method, 'name', { value: level, configurable: true });
      });
    }
  }

  #log(line: Line): unknown {
    const { category, args, write } = line;
    const { verdict, front } = this.#judge(line);
    if (verdict === 'drop') return undefined;
    if (verdict === 'native') return writeBehind(front, () => write(args));
    const writeMasked = () => writeBehind(DECIDED, () => write(category.redaction.values(args)));
    return verdict === 'forced' ? this.adopter.attempt(writeMasked) : writeMasked();
  }

  /** Returns the verdict, and the decision for the logger behind about a native line. */
  #judge({ category, level, args, reach: reachOf }: Line): { verdict: Verdict; front?: Front | undefined } {
    const decide = () => {
      const [message] = args;
      const text = typeof message === 'string' ? message : '';
      const isDebug = DEBUG_LEVELS.includes(level);
      const reach = reachOf();
      const call: LoggerCall = {
        ...{ level: RANKS[level]!, isDebug, reach, bytes: text.length + 64 },
        given: args,
        describe: describer(category),
        isTimeless: true,
      };
      const verdict = category.judge(call);
      if (reach === 'open') return { verdict, front: isDebug ? DECIDED : undefined };
      const { decided: isDecided, recorded: isRecorded } = category.gated;
      if (isDebug || reach === 'withheld') return { verdict, front: isRecorded ? RECORDED : SEEN };
      return { verdict, front: { isDecided, isRecorded, letsOut: () => category.passes(call) } };
    };
    return this.adopter.attempt(decide, category) ?? { verdict: 'native' };
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
      this.adopter.failed(error);
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
    this.gate({
      target: Logger.prototype,
      contextOf: ownContext,
      reachOf: (logger, level) => this.#reachOf((logger as Facade).localInstance, level),
      call: this.#buffered,
    });
    this.gate({
      target: Logger,
      contextOf: givenContext,
      reachOf: (_logger, level) => this.#reachOf(Logger.staticInstanceRef, level),
      call: this.#buffered,
    });
    this.gate({
      target: ConsoleLogger.prototype,
      contextOf: givenContext,
      reachOf: (logger, level) => this.#reachOf(logger, level),
      call: this.#consoled,
    });
    this.#register(Logger.prototype);
    this.#register(ConsoleLogger.prototype);
    this.#openConsole(ConsoleLogger.prototype);
    this.patches.around(Logger, 'overrideLogger', (_logger, _args, proceed) => {
      const result = proceed();
      this.adopter.attempt(() => this.defaultsChanged());
      return result;
    });
  }

  protected override writesDebug(): boolean {
    return this.#reachOf(this.#Logger.staticInstanceRef, 'debug') === 'open';
  }

  #reachOf(logger: unknown, level: string): Reach {
    if (typeof logger !== 'object' || logger === null) return 'withheld';
    const { options } = logger as NestLogger;
    const unset = options?.logLevels === undefined;
    // What an object of another kind answers need not be what it writes.
    if (unset && !Object.prototype.isPrototypeOf.call(this.#console, logger)) return 'unknown';
    const isOpen = this.#isLevelEnabled.call(logger, level) as boolean;
    // Nest 12 keeps what NEST_LOG_LEVEL says at the first question. The application may load it from a file later.
    if (unset && options?.logLevels !== undefined) options.logLevels = undefined;
    return isOpen ? 'open' : 'withheld';
  }

  /** A line that is kept until the application has chosen its logger is decided when it is written. */
  readonly #buffered = (logger: unknown, original: Call, args: unknown[]): unknown => {
    const { logBuffer } = this.#Logger;
    const before = logBuffer?.length;
    const result = original.apply(logger, args);
    const kept = logBuffer?.at(-1);
    const front = inFront();
    if (front === undefined || kept === undefined || logBuffer?.length === before) return result;
    const { methodRef } = kept;
    kept.methodRef = (...given) =>
      this.active ? this.adopter.attempt(() => writeBehind(front, () => methodRef(...given))) : methodRef(...given);
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
        if (context !== undefined) copy.adopter.attempt(() => copy.category(context));
      },
    });
  }

  /** Lets lines that are decided pass the levels of a `ConsoleLogger`, and tells guards the truth. */
  #openConsole(prototype: object): void {
    this.patches.around<NestLogger>(prototype, 'isLevelEnabled', (logger, [level], proceed) => {
      const admitted = proceed() as boolean;
      if (!LEVELS.includes(level as string)) return admitted;
      if (inFront()?.isDecided) return true;
      if (this.#writing || typeof logger.context !== 'string') return admitted;
      const isDebug = DEBUG_LEVELS.includes(level as string);
      const category = this.category(logger.context);
      return category?.guard({ level: RANKS[level as string]!, isDebug, admitted }) ?? admitted;
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
    this.gate({ target: prototype, contextOf, reachOf: () => 'unknown' });
    this.patches.around(prototype, 'setContext', (_logger, [context], proceed) => {
      this.adopter.attempt(() => this.category(context));
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

function describer({ redaction }: AdoptedCategory): LoggerCall['describe'] {
  return (given) => describe(redaction.values(given));
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
