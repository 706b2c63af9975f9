import { APPLICATION, type LoggerAdopter, nameOf, UNADOPTED } from './loggers.ts';
import { Patches } from './patches.ts';
import { PinoLevels } from './pino-levels.ts';
import type { PinoLogger, PinoParts, PinoPrototype, PinoSymbols } from './pino-logger.ts';
import { PinoMethods } from './pino-methods.ts';
import type { AdoptedCategory } from './types.ts';
import { WeakList } from './weak-list.ts';

/** Loggers that are kept from the garbage collector, per copy of pino. */
const MAX_KEPT = 16;

/** What a logger with a category of its own has as a property. Children inherit it. */
interface State {
  readonly name: string;
  readonly category: AdoptedCategory | undefined;
  /** Who adopted it, and gives its children their categories. */
  readonly adopter: LoggerAdopter;
  /** What the logger had in place of the gated methods, by level. Only of loggers that are not made by `child()`. */
  readonly originals?: Map<string, PropertyDescriptor | undefined>;
}

/**
 * The loggers of one copy of pino. Each gets gated methods in place of those below INFO: a bit test, then pino's own
 * method. The level, its changes and its listeners stay the application's.
 *
 * Up to 9.9.2, and in 9.14, each child has methods of its own; from 10 on only those with a level of their own have.
 */
export class PinoCopy {
  readonly #prototype: PinoPrototype;
  readonly #symbols: PinoSymbols;
  readonly #levels: PinoLevels;
  readonly #methods: PinoMethods;
  #adopter: LoggerAdopter = UNADOPTED;
  readonly #state = Symbol('rdcp.adopted');
  readonly #patches = new Patches();
  #starting = false;
  /** The parent of the child that is being made: its bindings are known a moment later. */
  #making: PinoLogger | undefined;
  readonly #loggers = new WeakList<PinoLogger>();
  /**
   * The newest loggers that are not made by `child()`. At the exit pino writes what an asynchronous destination holds back,
   * unless the logger was collected; a script that is over in a moment without us lives long enough for that with us.
   */
  readonly #kept: PinoLogger[] = [];
  /** Names of the loggers that had a category of their own when the adoption ended. */
  readonly #ownNames = new WeakMap<PinoLogger, string>();
  /** States of children, by category. */
  readonly #childStates = new WeakMap<object, State>();

  constructor(parts: PinoParts) {
    this.#prototype = parts.prototype;
    this.#symbols = parts.symbols;
    this.#levels = new PinoLevels(parts);
    this.#methods = new PinoMethods(parts.symbols, this.#levels, (error, category) =>
      this.#adopter.failed(error, category),
    );
  }

  start(): void {
    this.#methods.active = true;
    this.#patch();
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
    this.#begin(logger, name ?? this.#nameOf(logger, adopter) ?? APPLICATION, adopter);
    this.#adoptKnown((known) => Object.prototype.isPrototypeOf.call(logger, known));
  }

  #adoptKnown(concerns: (logger: PinoLogger) => boolean): void {
    this.#starting = true;
    // Parents come before their children.
    for (const logger of this.#loggers) {
      if (!concerns(logger) || Object.hasOwn(logger, this.#state)) continue;
      this.#guard(() => {
        const name = this.#ownNames.get(logger);
        const state = this.#stateOf(logger);
        if (name !== undefined) this.#begin(logger, name);
        else if (state !== undefined) this.#gate(logger, state);
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
      this.#guard(() => {
        if (Object.hasOwn(logger, this.#state)) this.#ownNames.set(logger, this.#stateOf(logger)!.name);
        this.#restoreLogger(logger);
      });
    }
  }

  /** Puts the prototype back. Methods that cannot be reached any more behave as pino's own from here on. */
  stop(): void {
    this.#methods.active = false;
    this.#patches.restore();
  }

  #patch(): void {
    const copy = this;
    const { setLevel } = this.#symbols;
    this.#patches.wrap<PinoLogger>(
      this.#prototype,
      setLevel,
      (original) =>
        function setLevel(this: PinoLogger, level: unknown) {
          const result = original.call(this, level);
          if (copy.#methods.active) copy.#guard(() => copy.#levelSet(this));
          return result;
        },
    );
    this.#patches.wrap<PinoLogger>(
      this.#prototype,
      'child',
      (original) =>
        function child(this: PinoLogger, ...args: unknown[]) {
          if (!copy.#methods.active) return original.apply(this, args);
          const outer = copy.#making;
          copy.#making = this;
          let made: unknown;
          try {
            made = original.apply(this, args);
          } finally {
            copy.#making = outer;
          }
          copy.#guard(() => copy.#childMade(this, made as PinoLogger, args[0]));
          return made;
        },
    );
    this.#patches.wrap<PinoLogger>(
      this.#prototype,
      'setBindings',
      (original) =>
        function setBindings(this: PinoLogger, bindings: unknown) {
          const result = original.call(this, bindings);
          if (copy.#methods.active) copy.#guard(() => copy.#bindingsSet(this, bindings));
          return result;
        },
    );
    this.#patches.wrap<PinoLogger>(
      this.#prototype,
      'isLevelEnabled',
      (original) =>
        function isLevelEnabled(this: PinoLogger, level: unknown) {
          const admitted = original.call(this, level) as boolean;
          return copy.#methods.active ? copy.#isEnabled(this, String(level), admitted) : admitted;
        },
    );
  }

  #levelSet(logger: PinoLogger): void {
    if (this.#making !== undefined && Object.getPrototypeOf(logger) === this.#making) return;
    const state = this.#stateOf(logger);
    if (state === undefined) {
      this.#begin(logger, this.#nameOf(logger) ?? APPLICATION);
      if (this.#kept.push(logger) > MAX_KEPT) this.#kept.shift();
      return;
    }
    if (Object.hasOwn(logger, this.#state)) {
      state.originals?.clear();
      state.category?.setDefault(this.#levels.admitsDebug(logger));
    }
    this.#gate(logger, state);
  }

  #childMade(parent: PinoLogger, child: PinoLogger, bindings: unknown): void {
    if (this.#stateOf(parent) === undefined) this.#begin(parent, this.#nameOf(parent) ?? APPLICATION);
    const state = this.#stateOf(parent)!;
    const name = nameOf(bindings, state.adopter.names);
    if (name !== undefined) this.#beginChild(child, name, state.adopter);
    else if (Object.hasOwn(child, this.#symbols.levelVal)) this.#gate(child, state);
  }

  #bindingsSet(logger: PinoLogger, bindings: unknown): void {
    const adopter = this.#stateOf(logger)?.adopter ?? this.#adopter;
    const name = nameOf(bindings, adopter.names);
    if (name === undefined) return;
    if (Object.hasOwn(logger, this.#state)) this.#restoreLogger(logger);
    this.#begin(logger, name, adopter);
  }

  #nameOf(logger: PinoLogger, adopter = this.#adopter): string | undefined {
    return nameOf(logger.bindings(), adopter.names);
  }

  /** Gives a logger a category of its own. */
  #begin(logger: PinoLogger, name: string, adopter = this.#stateOf(logger)?.adopter ?? this.#adopter): void {
    const category = adopter.category(name, this.#levels.admitsDebug(logger));
    const state: State = { name, category, adopter, originals: new Map() };
    Object.defineProperty(logger, this.#state, { value: state, configurable: true, writable: true });
    this.#gate(logger, state);
  }

  /** The same for a logger that `child()` makes, perhaps one for each request. */
  #beginChild(child: PinoLogger, name: string, adopter: LoggerAdopter): void {
    const category = adopter.category(name, this.#levels.admitsDebug(child));
    const known = category && this.#childStates.get(category);
    const state = known?.adopter === adopter && known.name === name ? known : { name, category, adopter };
    if (category !== undefined) this.#childStates.set(category, state);
    child[this.#state] = state;
    this.#gate(child, state);
  }

  #gate(logger: PinoLogger, { category, originals }: State): void {
    const hasLevel = Object.hasOwn(logger, this.#symbols.levelVal);
    // pino's own methods are there already.
    if (category === undefined && hasLevel) return;
    const methods = this.#methods.of(logger, category, hasLevel);
    const own = originals !== undefined && Object.hasOwn(logger, this.#state);
    for (const [level, method] of methods) {
      if (own) originals.set(level, Object.getOwnPropertyDescriptor(logger, level));
      logger[level] = method;
    }
    if (methods.length > 0 && !this.#starting) this.#loggers.add(logger);
  }

  #stateOf(logger: PinoLogger): State | undefined {
    return logger[this.#state] as State | undefined;
  }

  #isEnabled(logger: PinoLogger, level: string, admitted: boolean): boolean {
    const category = this.#stateOf(logger)?.category;
    if (category === undefined || !this.#levels.belowInfo(logger).has(level)) return admitted;
    if (!admitted && this.#levels.isSilent(logger)) return false;
    return category.allows(admitted);
  }

  #restoreLogger(logger: PinoLogger): void {
    const originals = Object.hasOwn(logger, this.#state) ? this.#stateOf(logger)?.originals : undefined;
    for (const level of this.#levels.belowInfo(logger)) {
      const { value } = Object.getOwnPropertyDescriptor(logger, level) ?? {};
      if (!this.#methods.isOurs(value)) continue;
      const original = originals?.get(level);
      if (original !== undefined) Object.defineProperty(logger, level, original);
      else if (!Object.hasOwn(logger, this.#symbols.levelVal)) delete logger[level];
      else logger[level] = this.#levels.admits(logger, level) ? this.#levels.methodOf(logger, level) : logger.silent;
    }
    delete logger[this.#state];
  }

  /** Runs work of ours inside a call of the application, which must not notice an error of it. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#adopter.failed(error);
    }
  }
}
