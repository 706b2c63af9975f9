import type { LogMethod, PinoLogger, PinoParts, PinoSymbols } from './pino-logger.ts';

const HOOKS = Symbol.for('pino.hooks');
const NO_HOOK = {};
/** Levels that count as debug output of a logger without a level `info`. */
const DEBUG_LEVELS: ReadonlySet<string> = new Set(['debug', 'trace', 'verbose', 'silly']);

/** What the loggers of one copy of pino say of their levels, and pino's own methods of each. */
export class PinoLevels {
  readonly #symbols: PinoSymbols;
  readonly #setLevel: LogMethod;
  /** pino's own methods, by level value and `logMethod` hook. */
  readonly #methods = new Map<number, WeakMap<object, LogMethod>>();
  /** The levels below INFO, by the logger's `levels`. */
  readonly #debugLevels = new WeakMap<object, ReadonlySet<string>>();

  constructor({ prototype, symbols }: PinoParts) {
    this.#symbols = symbols;
    this.#setLevel = prototype[symbols.setLevel]!;
  }

  /** A silent logger stays silent: that is no level but a decision of the application to have no output. */
  isSilent(logger: PinoLogger): boolean {
    return logger[this.#symbols.levelVal] === Number.POSITIVE_INFINITY;
  }

  /** Whether the logger's own level admits lines of a level. */
  admits(logger: PinoLogger, level: string): boolean {
    return this.#compare(logger, logger.levels.values[level]!, logger[this.#symbols.levelVal] as number);
  }

  admitsDebug(logger: PinoLogger): boolean {
    const levels = this.belowInfo(logger);
    if (levels.has('debug')) return this.admits(logger, 'debug');
    return [...levels].some((level) => this.admits(logger, level));
  }

  #compare(logger: PinoLogger, level: number, threshold: number): boolean {
    const compare = this.#symbols.levelComp && logger[this.#symbols.levelComp];
    return typeof compare === 'function' ? compare(level, threshold) : level >= threshold;
  }

  /** Names of the levels below INFO. */
  belowInfo(logger: PinoLogger): ReadonlySet<string> {
    const known = this.#debugLevels.get(logger.levels);
    if (known !== undefined) return known;
    const { values } = logger.levels;
    const { info } = values;
    const below = Object.keys(values).filter((level) =>
      info === undefined ? DEBUG_LEVELS.has(level) : !this.#compare(logger, values[level]!, info),
    );
    const levels = new Set(below);
    this.#debugLevels.set(logger.levels, levels);
    return levels;
  }

  /** pino's own method of a level, whatever the logger's level is. */
  methodOf(logger: PinoLogger, level: string): LogMethod | undefined {
    const value = logger.levels.values[level]!;
    const methods = this.#methods.get(value) ?? new WeakMap<object, LogMethod>();
    this.#methods.set(value, methods);
    const hook = this.hookOf(logger);
    const known = methods.get(hook);
    if (known !== undefined) return known;
    const shadow = Object.create(logger, { emit: { value: () => false } });
    this.#setLevel.call(shadow, level);
    const method = shadow[level] as LogMethod;
    if (typeof method !== 'function' || method === logger.silent) return undefined;
    methods.set(hook, method);
    return method;
  }

  hookOf(logger: PinoLogger): object {
    return (logger[HOOKS] as { readonly logMethod?: object } | undefined)?.logMethod ?? NO_HOOK;
  }

  /** Whether the logger compares as pino does by default: the larger value is the more urgent one. */
  isAscending(logger: PinoLogger): boolean {
    const values = [...Object.values(logger.levels.values), Number.POSITIVE_INFINITY];
    return values.every((a) => values.every((b) => this.#compare(logger, a, b) === a >= b));
  }
}
