import { decision, writeLast } from './decision.ts';
import { APPLICATION, type LoggerAdopter, nameOf, UNADOPTED, undescribed } from './loggers.ts';
import { Patches } from './patches.ts';
import type { AdoptedCategory } from './types.ts';
import { WeakList } from './weak-list.ts';
import { admits, isBelowInfo, type LeveledLogger, reachOf } from './winston-levels.ts';
import { LetThrough } from './winston-transports.ts';

/** The parts of a winston logger that are used here. */
export interface WinstonLogger extends LeveledLogger {
  readonly silent?: boolean;
  readonly defaultMeta?: unknown;
  readonly format?: { transform(info: Info, options: unknown): unknown; readonly options?: unknown };
  write(info: unknown, ...rest: unknown[]): boolean;
  [key: symbol]: unknown;
}

interface Info {
  readonly level?: unknown;
  readonly message?: unknown;
  [key: string | symbol]: unknown;
}

/** Returns the prototype that all loggers of one copy of winston 3 share. @param value a logger, or the module */
export function findWinston(value: unknown): object | undefined {
  const { startTimer, configure } = value as { startTimer?(): { logger?: unknown }; configure?: unknown };
  if (typeof configure !== 'function' || typeof startTimer !== 'function') return undefined;
  // The module has the methods of its default logger, which a timer tells.
  const logger = 'Container' in (value as object) ? startTimer().logger : value;
  for (let at: unknown = logger; typeof at === 'object' && at !== null; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, 'configure') && Object.hasOwn(at, '_transform')) return at;
  }
  return undefined;
}

/** What an adopted logger has as a property. Children inherit it. */
interface State {
  readonly category: AdoptedCategory | undefined;
  /** The default meta that named the category: the application may assign another. */
  readonly meta: unknown;
  /** Who adopted it, and gives its children their categories. */
  readonly adopter: LoggerAdopter;
}

type Method = (this: WinstonLogger, ...args: unknown[]) => unknown;

const LEVEL = Symbol.for('level');

/**
 * The loggers of one copy of winston. Everything that winston writes passes `write`; there a line below INFO is let
 * through or dropped. No level is changed: a line that is let through is marked, and the transports that take INFO
 * accept it.
 */
export class WinstonCopy {
  readonly #prototype: object;
  #adopter: LoggerAdopter = UNADOPTED;
  readonly #patches = new Patches();
  readonly #loggers = new WeakList<WinstonLogger>();
  readonly #state = Symbol('rdcp.adopted');
  readonly #letThrough = new LetThrough();
  /** Names of the children with a category of their own, by relay. */
  readonly #relayNames = new WeakMap<object, string>();
  #active = false;
  /** What a child has decided about the line that it passes on to its parent. */
  #decided: 'let through' | 'as it is' | undefined;
  /** Whether the line that is being formatted is let through. */
  #formatting = false;
  /** Whether any line was marked as let through. */
  #followsMarks = false;
  /** The id in a container of the logger that is being made. */
  #id: string | undefined;

  constructor(prototype: object) {
    this.#prototype = prototype;
  }

  start(): void {
    this.#active = true;
    this.#patch(this.#prototype);
  }

  /**
   * Adopts the loggers that are made from now on, and those of before as soon as they write.
   * @param Container of the module
   */
  adoptAll(adopter: LoggerAdopter, Container: unknown): void {
    this.#adopter = adopter;
    this.#forget(UNADOPTED);
    if (typeof Container === 'function') this.#patchContainer(Container.prototype);
  }

  /** Adopts a logger that exists, and its children. @param name of its category @default by its default meta */
  adopt(logger: WinstonLogger, name: string | undefined, adopter: LoggerAdopter): void {
    this.#begin(logger, name, adopter);
  }

  /** Puts the loggers back that were adopted by one adopter. */
  release(adopter: LoggerAdopter): void {
    if (this.#adopter === adopter) this.#adopter = UNADOPTED;
    this.#forget(adopter);
  }

  stop(): void {
    this.#active = false;
    this.#patches.restore();
    this.#letThrough.restore();
    this.#followsMarks = false;
    for (const logger of this.#loggers) delete logger[this.#state];
    this.#loggers.clear();
  }

  #forget(adopter: LoggerAdopter): void {
    for (const logger of this.#loggers) {
      const own = Object.hasOwn(logger, this.#state) ? (logger[this.#state] as State) : undefined;
      if (own?.adopter === adopter) delete logger[this.#state];
    }
  }

  #patch(prototype: object): void {
    const copy = this;
    this.#patches.wrap(
      prototype,
      'configure',
      (original) =>
        function configure(this: WinstonLogger, ...args: unknown[]) {
          const result = original.apply(this, args);
          if (copy.#active) copy.#guard(() => copy.#begin(this));
          return result;
        },
    );
    this.#patches.wrap(
      prototype,
      'write',
      (original) =>
        function write(this: WinstonLogger, ...args: unknown[]) {
          return copy.#active ? copy.#write(this, original, args) : original.apply(this, args);
        },
    );
    this.#patches.wrap(
      prototype,
      'child',
      (original) =>
        function child(this: WinstonLogger, ...args: unknown[]) {
          const name = copy.#active ? nameOf(args[0], copy.#adopter.names) : undefined;
          return original.apply(name === undefined ? this : copy.#relay(this, name), args);
        },
    );
    this.#patches.wrap(
      prototype,
      'isLevelEnabled',
      (original) =>
        function isLevelEnabled(this: WinstonLogger, ...args: unknown[]) {
          const admitted = original.apply(this, args) as boolean;
          return copy.#active ? copy.#isEnabled(this, String(args[0]), admitted) : admitted;
        },
    );
  }

  /** Follows marked lines through the logger's format, from the first one on. */
  #followMarks(prototype: object): void {
    if (this.#followsMarks) return;
    this.#followsMarks = true;
    const copy = this;
    // What the format makes of a line may be another object.
    this.#patches.wrap(
      prototype,
      '_transform',
      (original) =>
        function _transform(this: WinstonLogger, ...args: unknown[]) {
          const outer = copy.#formatting;
          copy.#formatting = copy.#letThrough.isMarked(args[0]);
          try {
            return original.apply(this, args);
          } finally {
            copy.#formatting = outer;
          }
        },
    );
    this.#patches.wrap(
      prototype,
      'push',
      (original) =>
        function push(this: WinstonLogger, ...args: unknown[]) {
          if (copy.#formatting) copy.#letThrough.keep(args[0]);
          return original.apply(this, args);
        },
    );
  }

  #patchContainer(prototype: object): void {
    const copy = this;
    this.#patches.wrap(
      prototype,
      'add',
      (original) =>
        function add(this: WinstonLogger, ...args: unknown[]) {
          const outer = copy.#id;
          copy.#id = typeof args[0] === 'string' && args[0] !== '' ? args[0] : undefined;
          try {
            return original.apply(this, args);
          } finally {
            copy.#id = outer;
          }
        },
    );
  }

  /** Gives a logger its category. A later change of its default meta gives it another. */
  #begin(logger: WinstonLogger, name?: string, given?: LoggerAdopter): State {
    const adopter = given ?? (logger[this.#state] as State | undefined)?.adopter ?? this.#adopter;
    const meta = logger.defaultMeta;
    const label = (logger.format?.options as { readonly label?: unknown } | undefined)?.label;
    const own = name ?? nameOf(meta, adopter.names) ?? nameOf({ label }, ['label']) ?? this.#id ?? APPLICATION;
    return this.#keep(logger, own, meta, adopter);
  }

  #keep(logger: WinstonLogger, name: string, meta: unknown, adopter: LoggerAdopter): State {
    const state = { category: adopter.category(name, admits(logger, 'debug')), meta, adopter };
    if (Object.isExtensible(logger)) {
      Object.defineProperty(logger, this.#state, { value: state, configurable: true, writable: true });
      this.#loggers.add(logger);
    }
    return state;
  }

  #stateOf(logger: WinstonLogger): State {
    const name = Object.hasOwn(logger, 'write') ? this.#relayNames.get(logger) : undefined;
    if (name !== undefined && !Object.hasOwn(logger, this.#state)) {
      const { adopter } = this.#stateOf(Object.getPrototypeOf(logger));
      return this.#keep(logger, name, logger.defaultMeta, adopter);
    }
    const state = logger[this.#state] as State | undefined;
    return state !== undefined && (name !== undefined || state.meta === logger.defaultMeta)
      ? state
      : this.#begin(logger);
  }

  /**
   * A parent for a child with a category of its own: winston's child passes its lines on to `write` of the parent, and its
   * own `write` cannot be replaced.
   */
  #relay(parent: WinstonLogger, name: string): WinstonLogger {
    const relay: WinstonLogger = Object.create(parent, {
      write: {
        configurable: true,
        writable: true,
        value: (...args: [unknown]) => (this.#active ? this.#relayed(relay, parent, args) : parent.write(...args)),
      },
    });
    this.#relayNames.set(relay, name);
    this.#stateOf(relay);
    return relay;
  }

  #relayed(relay: WinstonLogger, parent: WinstonLogger, args: [unknown]): boolean {
    const decided = this.#decided ?? this.#decide(relay, args[0]);
    if (decided === 'drop') return true;
    this.#decided = decided;
    try {
      return parent.write(...args);
    } finally {
      this.#decided = undefined;
    }
  }

  #write(logger: WinstonLogger, original: Method, args: unknown[]): unknown {
    const [info] = args;
    const decided = this.#decided ?? this.#decide(logger, info);
    this.#decided = undefined;
    if (decided !== 'let through' && this.#followsMarks) this.#letThrough.unmark(info);
    if (decided === 'as it is') return original.apply(logger, args);
    if (decided === 'drop') {
      const callback = args.at(-1);
      if (typeof callback === 'function') process.nextTick(callback as () => void);
      return true;
    }
    this.#followMarks(this.#prototype);
    this.#letThrough.mark(info as object, logger.transports);
    try {
      return decision.taken ? writeLast(() => original.apply(logger, args)) : original.apply(logger, args);
    } catch (error) {
      this.#adopter.failed(error, this.#categoryOf(logger));
      return true;
    }
  }

  #decide(logger: WinstonLogger, info: unknown): 'drop' | 'let through' | 'as it is' {
    try {
      if (typeof info !== 'object' || info === null) return 'as it is';
      const line = info as Info;
      const level = line[LEVEL] ?? line.level;
      if (typeof level !== 'string' || !isBelowInfo(logger.levels, level)) return 'as it is';
      const { category } = this.#stateOf(logger);
      if (category === undefined || logger.silent) return 'as it is';
      if (decision.taken) return written(reachOf(logger, level));
      const { decided } = category;
      if (!category.wanted) return decided ? 'drop' : 'as it is';
      const text = typeof line.message === 'string' ? line.message : '';
      const reach = decided ? reachOf(logger, level) : 'as it is';
      // A line that no transport writes is no call.
      if (reach === 'nowhere' && !category.tapped) return 'as it is';
      const admitted = decided || admits(logger, level);
      const described = category.tapped ? () => describe(logger, line) : undescribed;
      const passes = category.passes(text, described, text.length + 64, admitted);
      if (!decided) return 'as it is';
      return passes ? written(reach) : 'drop';
    } catch (error) {
      this.#adopter.failed(error, this.#categoryOf(logger));
      return 'as it is';
    }
  }

  #isEnabled(logger: WinstonLogger, level: string, admitted: boolean): boolean {
    try {
      if (logger.silent || !isBelowInfo(logger.levels, level)) return admitted;
      const { category } = this.#stateOf(logger);
      if (category === undefined) return admitted;
      const allowed = category.allows(admitted);
      return allowed && !admitted && reachOf(logger, level) === 'nowhere' ? category.tapped : allowed;
    } catch (error) {
      this.#adopter.failed(error, this.#categoryOf(logger));
      return admitted;
    }
  }

  #categoryOf(logger: WinstonLogger): AdoptedCategory | undefined {
    return (logger[this.#state] as State | undefined)?.category;
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#adopter.failed(error);
    }
  }
}

/** What no transport writes reaches those who read the logger as a stream, as without us. */
function written(reach: ReturnType<typeof reachOf>): 'let through' | 'as it is' {
  return reach === 'let through' ? reach : 'as it is';
}

/** The line as the logger's format makes it, so that taps see no more than the application's output. */
function describe({ format }: WinstonLogger, info: Info): { message: string; attributes?: Record<string, string> } {
  const copy: Info = Object.assign({}, info);
  const formatted = format === undefined ? copy : format.transform(copy, format.options);
  if (typeof formatted !== 'object' || formatted === null) return { message: '' };
  const { level: _level, message, ...attributes } = formatted as Info;
  return {
    message: typeof message === 'string' ? message : String(message),
    attributes: Object.fromEntries(Object.entries(attributes)) as Record<string, string>,
  };
}
