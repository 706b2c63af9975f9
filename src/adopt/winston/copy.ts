import { stripVTControlCharacters } from 'node:util';
import type { ArgumentRedaction } from '../../calls/emit/arguments.ts';
import type { Described, OwnLine } from '../../gate/types.ts';
import { fieldOf } from '../../wire/thrown.ts';
import type { AdoptedCategory } from '../category.ts';
import { inFront, writeBehind } from '../front.ts';
import { APPLICATION, errorOf, type LoggerAdopter, nameOf, UNADOPTED } from '../loggers.ts';
import { Patches } from '../patches.ts';
import type { Verdict } from '../verdict.ts';
import { WeakList } from '../weak-list.ts';
import { admits, isBelowInfo, type LeveledLogger, rankOf, reachOf, transportsOf } from './levels.ts';
import { LetThrough } from './transports.ts';

/** A logger or a transport. */
interface Formatting {
  readonly format?: { transform(info: Info, options: unknown): unknown; readonly options?: unknown };
}

/** The parts of a winston logger that are used here. */
export interface WinstonLogger extends LeveledLogger, Formatting {
  readonly silent?: boolean;
  readonly defaultMeta?: unknown;
  listenerCount(event: string): number;
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
  // The module has the methods of its default logger, which a timer refers to.
  const logger = 'Container' in (value as object) ? startTimer().logger : value;
  for (let at: unknown = logger; typeof at === 'object' && at !== null; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, 'configure') && Object.hasOwn(at, '_transform')) return at;
  }
  return undefined;
}

/** A property of an adopted logger. Children inherit it. */
interface State {
  readonly category: AdoptedCategory | undefined;
  /** The default meta that named the category: the application may assign another. */
  readonly meta: unknown;
  /** The adopter, which gives its children their categories. */
  readonly adopter: LoggerAdopter;
}

const LEVEL = Symbol.for('level');
/** The arguments behind the message, which the format `splat()` puts into it. */
const SPLAT = Symbol.for('splat');
/** The text that a transport writes. */
const MESSAGE = Symbol.for('message');

/**
 * The loggers of one copy of winston. Everything that winston writes passes `write`; there a line below INFO, or one that
 * the logger's level holds back, is forced or dropped. No level is changed: a forced line is marked, and the transports that
 * take INFO accept it.
 */
export class WinstonCopy {
  readonly #prototype: object;
  /** The format of a logger that is given none: it changes nothing but the text that transports write. */
  readonly #usualFormat: unknown;
  #adopter: LoggerAdopter = UNADOPTED;
  readonly #patches = new Patches();
  readonly #loggers = new WeakList<WinstonLogger>();
  readonly #state = Symbol('rdcp.adopted');
  readonly #letThrough = new LetThrough((work) => this.#adopter.attempt(work));
  /** Names of the children with a category of their own, by relay. */
  readonly #relayNames = new WeakMap<object, string>();
  #active = false;
  /** The verdict of a child about the line that it passes on to its parent. */
  #ofChild: Verdict | undefined;
  /** Whether the line that is being formatted is forced. */
  #formatting = false;
  /** The id in a container of the logger that is being made. */
  #id: string | undefined;

  constructor(prototype: object) {
    this.#prototype = prototype;
    const Logger = prototype.constructor as new () => Formatting;
    this.#usualFormat = new Logger().format?.transform;
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

  #forget(adopter: LoggerAdopter): void {
    for (const logger of this.#loggers) {
      const own = Object.hasOwn(logger, this.#state) ? (logger[this.#state] as State) : undefined;
      if (own?.adopter === adopter) delete logger[this.#state];
    }
  }

  start(): void {
    const prototype = this.#prototype;
    this.#active = true;
    this.#patches.around<WinstonLogger>(prototype, 'configure', (logger, _args, proceed) => {
      const result = proceed();
      this.#adopter.attempt(() => this.#begin(logger));
      return result;
    });
    this.#patches.around<WinstonLogger>(prototype, 'write', (logger, args, proceed) =>
      this.#write(logger, proceed, args),
    );
    this.#patches.around<WinstonLogger>(prototype, 'child', (logger, [meta], proceed) => {
      const name = nameOf(meta, this.#adopter.names);
      return name === undefined ? proceed() : proceed(this.#relay(logger, name));
    });
    this.#patches.around<WinstonLogger>(prototype, 'isLevelEnabled', (logger, [level], proceed) =>
      this.#isEnabled(logger, String(level), proceed() as boolean),
    );
    // Follows forced lines through the logger's format, which may return another object for a line.
    this.#patches.around(prototype, '_transform', (_logger, [line], proceed) => {
      const outer = this.#formatting;
      this.#formatting = this.#letThrough.isMarked(line);
      try {
        return this.#formatting ? this.#adopter.attempt(proceed) : proceed();
      } finally {
        this.#formatting = outer;
      }
    });
    this.#patches.around(prototype, 'push', (_logger, [formatted], proceed) => {
      if (this.#formatting) this.#letThrough.mark(formatted);
      return proceed();
    });
  }

  stop(): void {
    this.#active = false;
    this.#patches.restore();
    this.#letThrough.restore();
    for (const logger of this.#loggers) delete logger[this.#state];
    this.#loggers.clear();
  }

  #patchContainer(prototype: object): void {
    this.#patches.around(prototype, 'add', (_container, [id], proceed) => {
      const outer = this.#id;
      this.#id = typeof id === 'string' && id !== '' ? id : undefined;
      try {
        return proceed();
      } finally {
        this.#id = outer;
      }
    });
  }

  /** Gives a logger its category. A later change of its default meta gives it another. */
  #begin(logger: WinstonLogger, name?: string, given?: LoggerAdopter): State {
    const adopter = given ?? (logger[this.#state] as State | undefined)?.adopter ?? this.#adopter;
    const meta = logger.defaultMeta;
    const label = (logger.format?.options as { readonly label?: unknown } | undefined)?.label;
    const own = name ?? nameOf(meta, adopter.names) ?? nameOf({ label }, ['label']) ?? this.#id ?? APPLICATION;
    return this.#keep(logger, own, meta, adopter);
  }

  #keep(logger: WinstonLogger, name: string, meta: unknown, adopter: LoggerAdopter, parent?: AdoptedCategory): State {
    const state = { category: adopter.category(name, admits(logger, 'debug'), parent), meta, adopter };
    if (Object.isExtensible(logger)) {
      Object.defineProperty(logger, this.#state, { value: state, configurable: true, writable: true });
      this.#loggers.add(logger);
    }
    return state;
  }

  #stateOf(logger: WinstonLogger): State {
    const name = Object.hasOwn(logger, 'write') ? this.#relayNames.get(logger) : undefined;
    if (name !== undefined && !Object.hasOwn(logger, this.#state)) {
      const { adopter, category } = this.#stateOf(Object.getPrototypeOf(logger));
      return this.#keep(logger, name, logger.defaultMeta, adopter, category);
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

  #relayed(relay: WinstonLogger, parent: WinstonLogger, [info, ...rest]: [unknown]): boolean {
    const verdict = this.#ofChild ?? this.#judge(relay, info);
    if (verdict === 'drop') return true;
    const shown = this.#shown(relay, info, verdict);
    this.#ofChild = verdict;
    try {
      return parent.write(shown, ...rest);
    } finally {
      this.#ofChild = undefined;
    }
  }

  #write(logger: WinstonLogger, proceed: () => unknown, args: unknown[]): unknown {
    this.#noteError(logger, args[0]);
    const verdict = this.#ofChild ?? this.#judge(logger, args[0]);
    this.#ofChild = undefined;
    const info = this.#shown(logger, args[0], verdict);
    args[0] = info;
    if (verdict !== 'forced') this.#letThrough.unmark(info);
    if (verdict === 'native' || verdict === 'masked') return proceed();
    if (verdict === 'drop') {
      const callback = args.at(-1);
      if (typeof callback === 'function') process.nextTick(callback as () => void);
      return true;
    }
    this.#letThrough.mark(info);
    this.#letThrough.open(logger.transports);
    return this.#adopter.attempt(() => writeBehind(undefined, proceed), this.#categoryOf(logger)) ?? true;
  }

  #noteError({ levels }: WinstonLogger, info: unknown): void {
    const { error } = levels;
    // The more urgent level has the smaller number.
    if (error !== undefined && levels[levelOf(info) ?? '']! <= error) this.#adopter.workFailed(errorOf(info));
  }

  /** The line, with secrets masked where it is written because its category is on. */
  #shown(logger: WinstonLogger, info: unknown, verdict: Verdict): unknown {
    const category = this.#categoryOf(logger);
    const isShown = verdict === 'masked' || verdict === 'forced';
    if (!isShown || typeof info !== 'object' || info === null || category === undefined) return info;
    return redactedLine(info as Info, category.redaction);
  }

  #judge(logger: WinstonLogger, info: unknown): Verdict {
    try {
      if (typeof info !== 'object' || info === null) return 'native';
      const line = info as Info;
      const level = levelOf(line);
      if (level === undefined || !Object.hasOwn(logger.levels, level)) return 'native';
      const { category } = this.#stateOf(logger);
      if (category === undefined || logger.silent) return 'native';
      const isDebug = isBelowInfo(logger.levels, level);
      if (category.idle) return isDebug && category.decided ? 'drop' : 'native';
      // Until something decides, transports of different levels write what they take.
      const isNative = isDebug && !category.decided && inFront()?.isDecided !== true && admits(logger, level);
      const reach = isNative ? 'open' : reachOf(logger, level);
      const isTimeless = this.#isTimeless(logger);
      const splat: unknown = line[SPLAT];
      const verdict = category.judge({
        level: rankOf(logger.levels, level),
        isDebug,
        reach,
        bytes: (typeof line.message === 'string' ? line.message.length : 0) + 64,
        given: [line, ...(Array.isArray(splat) ? splat : [])],
        describe: isTimeless ? plainDescriber(category.redaction) : describer(logger, category.redaction),
        isTimeless,
      });
      // winston would format a line that no transport takes.
      return verdict === 'native' && reach === 'withheld' && isTimeless ? 'drop' : verdict;
    } catch (error) {
      this.#adopter.failed(error, this.#categoryOf(logger));
      return 'native';
    }
  }

  /** Whether no function of the application sees a line, other than those that write it. */
  #isTimeless(logger: WinstonLogger): boolean {
    const transports = transportsOf(logger) as readonly Formatting[];
    return (
      logger.format?.transform === this.#usualFormat &&
      logger.listenerCount('data') === transports.length &&
      transports.every(({ format }) => format === undefined)
    );
  }

  #isEnabled(logger: WinstonLogger, level: string, admitted: boolean): boolean {
    try {
      if (logger.silent || !Object.hasOwn(logger.levels, level)) return admitted;
      const { category } = this.#stateOf(logger);
      if (category === undefined) return admitted;
      const isDebug = isBelowInfo(logger.levels, level);
      const isOpen = category.guard({ level: rankOf(logger.levels, level), isDebug, admitted });
      return isOpen && !admitted && reachOf(logger, level) === 'nowhere' ? category.observed : isOpen;
    } catch (error) {
      this.#adopter.failed(error, this.#categoryOf(logger));
      return admitted;
    }
  }

  #categoryOf(logger: WinstonLogger): AdoptedCategory | undefined {
    return (logger[this.#state] as State | undefined)?.category;
  }
}

/** The level of a line; `undefined` where it is no text. */
function levelOf(line: unknown): string | undefined {
  const level = fieldOf(line, LEVEL) ?? fieldOf(line, 'level');
  return typeof level === 'string' ? level : undefined;
}

function describer(logger: WinstonLogger, redaction: ArgumentRedaction): OwnLine['describe'] {
  return ([info]) => describe(logger, redactedLine(info as Info, redaction));
}

/** For lines that no format changes. */
function plainDescriber(redaction: ArgumentRedaction): OwnLine['describe'] {
  return ([info, ...splat]) => {
    const line = { ...(info as Info), [SPLAT]: splat };
    const { level: _level, message, ...attributes } = redactedLine(line, redaction);
    return { message: stripVTControlCharacters(String(message)), attributes };
  };
}

/**
 * The line as the logger's format makes it, and the formats of its transports after it: taps see no more than any of the
 * application's outputs. `undefined` if one of them filters it.
 */
function describe(logger: WinstonLogger, info: Info): Described | undefined {
  const formatted = transformed(logger, Object.assign({}, info));
  if (formatted === undefined) return undefined;
  const { level: _level, message: own, ...attributes }: Record<string | symbol, unknown> = formatted;
  let message = own;
  for (const transport of transportsOf(logger) as readonly Formatting[]) {
    if (transport.format === undefined) continue;
    const written = transformed(transport, Object.assign({}, formatted));
    if (written === undefined) return undefined;
    const text = written[MESSAGE];
    const isPrinted =
      typeof text !== 'string' || text === formatted[MESSAGE] || text.includes(String(formatted.message));
    if (written.message !== formatted.message) message = written.message;
    // A format that masks as it prints.
    else if (!isPrinted) message = text;
    for (const name of Object.keys(attributes)) {
      if (!Object.hasOwn(written, name)) delete attributes[name];
      else if (written[name] !== formatted[name]) attributes[name] = written[name];
    }
  }
  return {
    message: stripVTControlCharacters(String(message)),
    attributes: { ...attributes } as Record<string, string>,
  };
}

function transformed({ format }: Formatting, info: Info): Info | undefined {
  const formatted = format === undefined ? info : format.transform(info, format.options);
  return typeof formatted === 'object' && formatted !== null ? (formatted as Info) : undefined;
}

/** The line with secrets masked. A message that forms a credential with its arguments, as `Bearer %s`, is formatted at once. */
function redactedLine(line: Info, redaction: ArgumentRedaction): Info {
  const [message, values] = [fieldOf(line, 'message'), fieldOf(line, SPLAT)];
  const shown = redaction.fields(line);
  if (typeof message !== 'string' || !Array.isArray(values)) return shown;
  const formatted = redaction.formatted([message, ...values]);
  if (formatted.length > 1) return shown;
  const plain = { enumerable: true, configurable: true, writable: true };
  return Object.create(Object.getPrototypeOf(shown), {
    ...Object.getOwnPropertyDescriptors(shown),
    message: { ...plain, value: formatted[0] },
    [SPLAT]: { ...plain, value: [] },
  });
}
