import { levelAmong } from '../levels.ts';
import { DEBUG_LEVELS } from '../loggers.ts';
import type { LogMethod, PinoLogger, PinoParts, PinoSymbols } from './logger.ts';

/** A level of a logger. */
export interface PinoLevel {
  readonly value: number;
  /** Among ours (`gate/levels.ts`). */
  readonly level: number;
  /** Whether its lines are debug output: those of INFO and above that the logger's own level admits are not counted. */
  readonly isDebug: boolean;
  /** pino's own method, whatever the logger's level is. */
  readonly method: LogMethod;
  /** What takes its place where the logger's own level admits it. */
  readonly admitted: LogMethod;
  /** What takes its place where the logger's own level holds it back. */
  readonly held: LogMethod;
}

/** What a gated method has to know. */
export type GatedLevel = Omit<PinoLevel, 'admitted' | 'held'>;

type MakeGate = (level: GatedLevel, natively: 'admitted' | 'held') => LogMethod;

/** The levels of the loggers of one copy of pino. */
export class PinoLevels {
  readonly #symbols: PinoSymbols;
  readonly #setLevel: LogMethod;
  readonly #gate: MakeGate;
  /** By `levels`, which each root logger and each child with custom levels has. */
  readonly #known = new WeakMap<object, ReadonlyMap<string, PinoLevel>>();

  /** @param gate makes the method that takes the place of a level's own */
  constructor({ prototype, symbols }: PinoParts, gate: MakeGate) {
    this.#symbols = symbols;
    this.#setLevel = prototype[symbols.setLevel]!;
    this.#gate = gate;
  }

  /** The levels of a logger by name. */
  of(logger: PinoLogger): ReadonlyMap<string, PinoLevel> {
    const known = this.#known.get(logger.levels) ?? new Map(this.#read(logger));
    this.#known.set(logger.levels, known);
    return known;
  }

  /** A silent logger stays silent: that is no level but a decision of the application to have no output. */
  isSilent(logger: PinoLogger): boolean {
    return logger[this.#symbols.levelVal] === Number.POSITIVE_INFINITY;
  }

  /** Whether the logger's own level admits lines of a level, by the level's value. */
  admits(logger: PinoLogger, value: number): boolean {
    return this.#compare(logger, value, logger[this.#symbols.levelVal] as number);
  }

  admitsDebug(logger: PinoLogger): boolean {
    const levels = this.of(logger);
    const debug = levels.get('debug');
    const asked = debug?.isDebug ? [debug] : [...levels.values()].filter(({ isDebug }) => isDebug);
    return asked.some(({ value }) => this.admits(logger, value));
  }

  #compare(logger: PinoLogger, level: number, threshold: number): boolean {
    const compare = this.#symbols.levelComp && logger[this.#symbols.levelComp];
    return typeof compare === 'function' ? compare(level, threshold) : level >= threshold;
  }

  *#read(logger: PinoLogger): Generator<[name: string, level: PinoLevel]> {
    const { values } = logger.levels;
    for (const [name, value] of Object.entries(values)) {
      const { info } = values;
      const isDebug = info === undefined ? DEBUG_LEVELS.has(name) : !this.#compare(logger, value, info);
      const method = this.#methodOf(logger, name);
      if (method === undefined) continue;
      const level = levelAmong(values, isDebug, (other) => this.#compare(logger, value, values[other]!));
      const read = { value, level, isDebug, method };
      yield [name, { ...read, admitted: this.#gate(read, 'admitted'), held: this.#gate(read, 'held') }];
    }
  }

  /** pino sets the methods of a level with the level. Its own are made on an object of our own. */
  #methodOf(logger: PinoLogger, level: string): LogMethod | undefined {
    const shadow = Object.create(logger, { emit: { value: () => false } });
    this.#setLevel.call(shadow, level);
    const method: unknown = shadow[level];
    return typeof method === 'function' && method !== logger.silent ? (method as LogMethod) : undefined;
  }
}
