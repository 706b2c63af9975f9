import { LEVEL } from '../../gate/levels.ts';
import type { AdoptedCategory } from '../category.ts';
import { writeBehind } from '../front.ts';
import { APPLICATION, errorOf, type LoggerAdopter, nameOf, UNADOPTED } from '../loggers.ts';
import { Patches } from '../patches.ts';
import { WeakList } from '../weak-list.ts';
import { type GatedLevel, PinoLevels } from './levels.ts';
import {
  describer,
  isTimeless,
  type LogMethod,
  type PinoLogger,
  type PinoParts,
  type PinoPrototype,
  type PinoSymbols,
} from './logger.ts';
import { redactedCall } from './redacted-call.ts';

/** Loggers that are kept from the garbage collector, per copy of pino. */
const MAX_KEPT = 16;

/** A property of a logger with a category of its own. Children inherit it. */
interface State {
  readonly name: string;
  readonly category: AdoptedCategory | undefined;
  /** The adopter, which gives its children their categories. */
  readonly adopter: LoggerAdopter;
  /** The methods that the logger had before they were gated, by level. */
  readonly originals: Map<string, unknown>;
}

/**
 * The loggers of one copy of pino. Each gets gated methods in place of those below ERROR, and of those that its level holds
 * back: a bit test, then pino's own method. The level, its changes and its listeners stay the application's.
 *
 * Up to 9.9.2, and in 9.14, each child has methods of its own; from 10 on only those with a level of their own have.
 */
export class PinoCopy {
  readonly #prototype: PinoPrototype;
  readonly #symbols: PinoSymbols;
  readonly #levels: PinoLevels;
  #adopter: LoggerAdopter = UNADOPTED;
  readonly #state = Symbol('rdcp.adopted');
  readonly #patches = new Patches();
  #active = false;
  #starting = false;
  readonly #loggers = new WeakList<PinoLogger>();
  /**
   * The newest loggers that are not made by `child()`. At the exit pino writes what an asynchronous destination holds back,
   * unless the logger was collected; a script that is over in a moment without us lives long enough for that with us.
   */
  readonly #kept: PinoLogger[] = [];
  /** Names of the loggers that had a category of their own when the adoption ended. */
  readonly #ownNames = new WeakMap<PinoLogger, string>();

  constructor(parts: PinoParts) {
    this.#prototype = parts.prototype;
    this.#symbols = parts.symbols;
    this.#levels = new PinoLevels(parts, (...of) => this.#gated(...of));
  }

  /** Adopts the loggers that are made from now on, and those of before that are known. */
  adoptAll(adopter: LoggerAdopter): void {
    this.release(UNADOPTED);
    this.#adopter = adopter;
    this.#adoptKnown(() => true);
  }

  /** Adopts a logger that exists, and its children. @param name of its category @default by its bindings */
  adopt(logger: PinoLogger, name: string | undefined, adopter: LoggerAdopter): void {
    if (!Object.isExtensible(logger)) return;
    if (Object.hasOwn(logger, this.#state)) this.#restoreLogger(logger);
    this.#begin(logger, name ?? this.#nameOf(logger, adopter), adopter);
    this.#adoptKnown((known) => Object.prototype.isPrototypeOf.call(logger, known));
  }

  #adoptKnown(concerns: (logger: PinoLogger) => boolean): void {
    this.#starting = true;
    // Parents come before their children.
    for (const logger of this.#loggers) {
      if (!concerns(logger) || Object.hasOwn(logger, this.#state)) continue;
      this.#adopter.attempt(() => {
        const name = this.#ownNames.get(logger);
        if (name !== undefined) this.#begin(logger, name);
        else this.#gate(logger);
      });
    }
    this.#starting = false;
  }

  /** Puts the loggers back that were adopted by one adopter. */
  release(adopter: LoggerAdopter): void {
    if (this.#adopter === adopter) this.#adopter = UNADOPTED;
    // A child finds its state in its parent.
    for (const logger of [...this.#loggers].reverse()) {
      if (this.#stateOf(logger)?.adopter !== adopter) continue;
      this.#adopter.attempt(() => {
        if (Object.hasOwn(logger, this.#state)) this.#ownNames.set(logger, this.#stateOf(logger)!.name);
        this.#restoreLogger(logger);
      });
    }
    // Children of another adopter may have used the methods of a parent that has none now.
    for (const logger of this.#loggers) this.#adopter.attempt(() => this.#gate(logger));
  }

  start(): void {
    const prototype = this.#prototype;
    this.#active = true;
    this.#patches.around<PinoLogger>(prototype, this.#symbols.setLevel, (logger, _args, proceed) => {
      const result = proceed();
      this.#adopter.attempt(() => this.#levelSet(logger));
      return result;
    });
    this.#patches.around<PinoLogger>(prototype, 'child', (parent, [bindings], proceed) => {
      this.#adopter.attempt(() => {
        if (this.#stateOf(parent) === undefined) this.#begin(parent, this.#nameOf(parent));
      });
      const child = proceed() as PinoLogger;
      this.#adopter.attempt(() => this.#childMade(child, bindings));
      return child;
    });
    this.#patches.around<PinoLogger>(prototype, 'setBindings', (logger, [bindings], proceed) => {
      const result = proceed();
      this.#adopter.attempt(() => this.#bindingsSet(logger, bindings));
      return result;
    });
    this.#patches.wrap<PinoLogger>(prototype, this.#symbols.write, (original) => {
      const copy = this;
      return function write(this: PinoLogger, fields: unknown, message: unknown, level: unknown) {
        const { error, fatal } = this.levels.values;
        if (level === error || level === fatal) copy.#stateOf(this)?.adopter.workFailed(errorOf(fields));
        return original.call(this, fields, message, level);
      };
    });
    this.#patches.around<PinoLogger>(prototype, 'isLevelEnabled', (logger, [level], proceed) =>
      this.#isEnabled(logger, String(level), proceed() as boolean),
    );
  }

  /** Methods that cannot be reached any more behave as pino's own from here on. */
  stop(): void {
    this.#active = false;
    this.#patches.restore();
  }

  #levelSet(logger: PinoLogger): void {
    const state = this.#stateOf(logger);
    if (state === undefined) {
      this.#begin(logger, this.#nameOf(logger));
      if (this.#kept.push(logger) > MAX_KEPT) this.#kept.shift();
      return;
    }
    if (Object.hasOwn(logger, this.#state)) state.category?.setDefault(this.#levels.admitsDebug(logger));
    this.#gate(logger);
  }

  /** A child without a name of its own has its parent's state, and was gated as its level was set. */
  #childMade(child: PinoLogger, bindings: unknown): void {
    const state = this.#stateOf(child);
    const name = state && nameOf(bindings, state.adopter.names);
    if (name !== undefined) this.#begin(child, name, state!.adopter, state!.category);
  }

  #bindingsSet(logger: PinoLogger, bindings: unknown): void {
    const adopter = this.#stateOf(logger)?.adopter ?? this.#adopter;
    const name = nameOf(bindings, adopter.names);
    if (name === undefined) return;
    if (Object.hasOwn(logger, this.#state)) this.#restoreLogger(logger);
    this.#begin(logger, name, adopter);
  }

  #nameOf(logger: PinoLogger, adopter = this.#adopter): string {
    return nameOf(logger.bindings(), adopter.names) ?? APPLICATION;
  }

  /** Gives a logger a category of its own. */
  #begin(
    logger: PinoLogger,
    name: string,
    adopter = this.#stateOf(logger)?.adopter ?? this.#adopter,
    parent?: AdoptedCategory,
  ): void {
    const category = adopter.category(name, this.#levels.admitsDebug(logger), parent);
    const state: State = { name, category, adopter, originals: new Map() };
    Object.defineProperty(logger, this.#state, { value: state, configurable: true, writable: true });
    this.#gate(logger);
    if (!this.#starting) this.#loggers.add(logger);
  }

  /** Replaces the methods of a logger, but for those of errors that its own level admits: nothing holds them back. */
  #gate(logger: PinoLogger): void {
    const { category, originals } = this.#stateOf(logger) ?? {};
    if (category === undefined) return;
    const hasLevel = Object.hasOwn(logger, this.#symbols.levelVal);
    const own = Object.hasOwn(logger, this.#state) ? originals : undefined;
    if (!hasLevel && this.#inheritsGates(logger)) return;
    for (const [level, { value, level: rank, admitted, held }] of this.#levels.of(logger)) {
      const isAdmitted = this.#levels.admits(logger, value);
      const gated = isAdmitted ? admitted : held;
      if (logger[level] === gated || (hasLevel && rank >= LEVEL.error && isAdmitted)) continue;
      own?.set(level, logger[level]);
      // A child that shares its parent's methods has none that code which lists its properties could see.
      if (Object.hasOwn(logger, level)) logger[level] = gated;
      else Object.defineProperty(logger, level, { value: gated, configurable: true, writable: true });
    }
    if (own === undefined && !this.#starting) this.#loggers.add(logger);
  }

  /** Whether the methods of a logger's parent will do: they are gated, or the application's own. */
  #inheritsGates(logger: PinoLogger): boolean {
    const parent = Object.getPrototypeOf(logger) as PinoLogger;
    const { adopter, category } = this.#stateOf(parent) ?? {};
    return category !== undefined && adopter === this.#stateOf(logger)?.adopter && parent.levels === logger.levels;
  }

  #stateOf(logger: PinoLogger): State | undefined {
    return logger[this.#state] as State | undefined;
  }

  #isEnabled(logger: PinoLogger, level: string, admitted: boolean): boolean {
    const category = this.#stateOf(logger)?.category;
    const levels = this.#levels;
    const asked = levels.of(logger).get(level);
    if (category === undefined || asked === undefined) return admitted;
    if (!admitted && levels.isSilent(logger)) return false;
    return category.guard({ level: asked.level, isDebug: asked.isDebug, admitted });
  }

  /** Returns what takes the place of a method: a bit test, then a verdict, then pino's own method. */
  #gated(of: GatedLevel, natively: 'admitted' | 'held'): LogMethod {
    const copy = this;
    const { value, isDebug, method } = of;
    const { levelVal } = this.#symbols;
    return function (...args) {
      // Called without its logger, as by `.catch(logger.debug)`. pino's own throws, or does nothing where it is held back.
      if (this?.[levelVal] === undefined) return natively === 'admitted' ? method.apply(this, args) : undefined;
      const admitted = copy.#levels.admits(this, value);
      const category = copy.#active ? copy.#stateOf(this)?.category : undefined;
      if (category !== undefined && !category.idle) return copy.#log(this, of, category, args);
      const isDropped = isDebug && category?.decided === true;
      return admitted && !isDropped ? method.apply(this, args) : undefined;
    };
  }

  #log(
    logger: PinoLogger,
    { value, level, isDebug, method }: GatedLevel,
    category: AdoptedCategory,
    args: unknown[],
  ): unknown {
    const admitted = this.#levels.admits(logger, value);
    if (!admitted && this.#levels.isSilent(logger)) return undefined;
    const symbols = this.#symbols;
    const verdict = category.judge({
      level,
      isDebug,
      reach: admitted ? 'open' : 'withheld',
      bytes: this.#bytesOf(logger, args),
      given: args,
      describe: describer(logger, method, symbols, category.redaction),
      // pino's `write`, which notes errors, takes part in describing a line.
      isTimeless: level < LEVEL.error && isTimeless(logger, symbols),
    });
    if (verdict === 'drop' || (verdict === 'native' && !admitted)) return undefined;
    const write = () =>
      writeBehind(undefined, () =>
        method.apply(
          ...(verdict === 'native' ? ([logger, args] as const) : redactedCall(logger, args, category, symbols)),
        ),
      );
    return verdict === 'forced' ? this.#adopter.attempt(write, category) : write();
  }

  #bytesOf(logger: PinoLogger, [first, second]: readonly unknown[]): number {
    const text = typeof first === 'string' ? first : typeof second === 'string' ? second : '';
    const bindings = logger[this.#symbols.chindings];
    return text.length + 64 + (typeof bindings === 'string' ? bindings.length : 0);
  }

  #restoreLogger(logger: PinoLogger): void {
    const originals = Object.hasOwn(logger, this.#state) ? this.#stateOf(logger)?.originals : undefined;
    const levels = this.#levels;
    for (const [level, { value, method, admitted, held }] of levels.of(logger)) {
      if (!Object.hasOwn(logger, level) || (logger[level] !== admitted && logger[level] !== held)) continue;
      if (!Object.hasOwn(logger, this.#symbols.levelVal)) delete logger[level];
      else logger[level] = originals?.get(level) ?? (levels.admits(logger, value) ? method : logger.silent);
    }
    delete logger[this.#state];
  }
}
