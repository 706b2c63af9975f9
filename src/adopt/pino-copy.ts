import type { Described } from '../gate/types.ts';
import { decision, writeLast } from './decision.ts';
import { APPLICATION, type LoggerAdopter, nameOf, UNADOPTED, undescribed } from './loggers.ts';
import { Patches } from './patches.ts';
import { PinoLevels } from './pino-levels.ts';
import {
  describeLine,
  type LogMethod,
  type PinoLogger,
  type PinoParts,
  type PinoPrototype,
  type PinoSymbols,
} from './pino-logger.ts';
import type { AdoptedCategory } from './types.ts';
import { WeakList } from './weak-list.ts';

/** How a method knows whether the application's level admits its lines. Loggers without a level of their own ask. */
type Admission = 'admitted' | 'refused' | 'asks';

/** What a logger with a category of its own has as a property. Children inherit it. */
interface State {
  readonly name: string;
  readonly category: AdoptedCategory | undefined;
  /** Who adopted it, and gives its children their categories. */
  readonly adopter: LoggerAdopter;
  /** What the logger had in place of the gated methods, by level. Only of loggers that are not made by `child()`. */
  readonly originals?: Map<string, PropertyDescriptor | undefined>;
}

/** The gated methods of all loggers of a category that are alike in what they depend on. */
interface Plan {
  readonly levels: object;
  readonly hook: object;
  readonly compare: unknown;
  /** `undefined` for loggers without a level of their own. */
  readonly threshold: unknown;
  readonly methods: readonly (readonly [level: string, method: LogMethod])[];
}

/** More kinds of loggers in one category are unusual; plans of further ones are made each time. */
const MAX_PLANS = 16;

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
  #adopter: LoggerAdopter = UNADOPTED;
  readonly #state = Symbol('rdcp.adopted');
  readonly #patches = new Patches();
  #active = false;
  #starting = false;
  /** The parent of the child that is being made: its bindings are known a moment later. */
  #making: PinoLogger | undefined;
  readonly #loggers = new WeakList<PinoLogger>();
  /** Names of the loggers that had a category of their own when the adoption ended. */
  readonly #ownNames = new WeakMap<PinoLogger, string>();
  readonly #plans = new WeakMap<object, Plan[]>();
  /** States of children, by category. */
  readonly #childStates = new WeakMap<object, State>();
  readonly #isGated = new WeakSet<object>();

  constructor(parts: PinoParts) {
    this.#prototype = parts.prototype;
    this.#symbols = parts.symbols;
    this.#levels = new PinoLevels(parts);
  }

  start(): void {
    this.#active = true;
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
    this.#active = false;
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
          if (copy.#active) copy.#guard(() => copy.#levelSet(this));
          return result;
        },
    );
    this.#patches.wrap<PinoLogger>(
      this.#prototype,
      'child',
      (original) =>
        function child(this: PinoLogger, ...args: unknown[]) {
          if (!copy.#active) return original.apply(this, args);
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
          if (copy.#active) copy.#guard(() => copy.#bindingsSet(this, bindings));
          return result;
        },
    );
    this.#patches.wrap<PinoLogger>(
      this.#prototype,
      'isLevelEnabled',
      (original) =>
        function isLevelEnabled(this: PinoLogger, level: unknown) {
          const admitted = original.call(this, level) as boolean;
          return copy.#active ? copy.#isEnabled(this, String(level), admitted) : admitted;
        },
    );
  }

  #levelSet(logger: PinoLogger): void {
    if (this.#making !== undefined && Object.getPrototypeOf(logger) === this.#making) return;
    const state = this.#stateOf(logger);
    if (state === undefined) {
      this.#begin(logger, this.#nameOf(logger) ?? APPLICATION);
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
    const { methods } = this.#planOf(logger, category, hasLevel);
    const own = originals !== undefined && Object.hasOwn(logger, this.#state);
    for (const [level, method] of methods) {
      if (own) originals.set(level, Object.getOwnPropertyDescriptor(logger, level));
      logger[level] = method;
    }
    if (methods.length > 0 && !this.#starting) this.#loggers.add(logger);
  }

  #planOf(logger: PinoLogger, category: AdoptedCategory | undefined, hasLevel: boolean): Plan {
    const { levels } = logger;
    const hook = this.#levels.hookOf(logger);
    const compare = this.#symbols.levelComp && logger[this.#symbols.levelComp];
    const threshold = hasLevel ? logger[this.#symbols.levelVal] : undefined;
    const key = category ?? this;
    const plans = this.#plans.get(key) ?? [];
    this.#plans.set(key, plans);
    for (const plan of plans) {
      if (plan.threshold !== threshold || plan.hook !== hook) continue;
      if (plan.levels === levels && plan.compare === compare) return plan;
    }
    const methods = this.#planMethods(logger, category, hasLevel);
    const plan = { levels, hook, compare, threshold, methods };
    if (plans.length >= MAX_PLANS) plans.shift();
    plans.push(plan);
    return plan;
  }

  #planMethods(logger: PinoLogger, category: AdoptedCategory | undefined, hasLevel: boolean): Plan['methods'] {
    return [...this.#levels.belowInfo(logger)].flatMap((level) => {
      const admitted = this.#levels.admits(logger, level);
      if (hasLevel && !admitted && this.#levels.isSilent(logger)) return [];
      const method = this.#levels.methodOf(logger, level);
      if (method === undefined) return [];
      const admission = hasLevel ? (admitted ? 'admitted' : 'refused') : 'asks';
      const gated = this.#makeGated(logger, category, admission, level, method);
      this.#isGated.add(gated);
      return [[level, gated] as const];
    });
  }

  #stateOf(logger: PinoLogger): State | undefined {
    return logger[this.#state] as State | undefined;
  }

  #makeGated(
    logger: PinoLogger,
    category: AdoptedCategory | undefined,
    admission: Admission,
    level: string,
    method: LogMethod,
  ): LogMethod {
    const copy = this;
    if (category === undefined) {
      return function (...args) {
        return copy.#levels.admits(this, level) ? method.apply(this, args) : undefined;
      };
    }
    // V8 makes no array of arguments whose elements are read, or that are passed on by `apply`, and nothing else.
    const special = (admitted: boolean): LogMethod =>
      function (...args) {
        return copy.#writeSpecial(this, category, method, admitted, args);
      };
    if (admission === 'admitted') {
      const writeSpecial = special(true);
      return function (...args) {
        if (copy.#isSpecial(category)) return writeSpecial.apply(this, args);
        return copy.#passes(this, category, true, args[0], args[1]) ? method.apply(this, args) : undefined;
      };
    }
    const writeSpecial = special(false);
    const writeRefused: LogMethod = function (...args) {
      if (copy.#isSpecial(category)) return writeSpecial.apply(this, args);
      if (!copy.#passes(this, category, false, args[0], args[1])) return undefined;
      try {
        return method.apply(this, args);
      } catch (error) {
        // Without us there would have been no line and no error.
        copy.#adopter.failed(error, category);
        return undefined;
      }
    };
    if (admission === 'refused') {
      return function (...args) {
        return category.wanted || decision.taken ? writeRefused.apply(this, args) : undefined;
      };
    }
    const { levelVal } = this.#symbols;
    const value = logger.levels.values[level]!;
    // Without the call of a function where pino compares as it does by default.
    const ascending = this.#levels.isAscending(logger);
    const writeAdmitted = this.#makeGated(logger, category, 'admitted', level, method);
    const writeUnlessSilent: LogMethod = function (...args) {
      return copy.#levels.isSilent(this) ? undefined : writeRefused.apply(this, args);
    };
    const compare: LogMethod = function (...args) {
      return copy.#levels.admits(this, level) ? writeAdmitted.apply(this, args) : writeUnlessSilent.apply(this, args);
    };
    return function (...args) {
      if (!ascending) return compare.apply(this, args);
      if (value >= (this[levelVal] as number)) return writeAdmitted.apply(this, args);
      return category.wanted || decision.taken ? writeUnlessSilent.apply(this, args) : undefined;
    };
  }

  /** Whether more is to be done about a line than to let it pass or not. */
  #isSpecial(category: AdoptedCategory): boolean {
    return category.tapped || decision.taken || !this.#active;
  }

  #writeSpecial(
    logger: PinoLogger,
    category: AdoptedCategory,
    method: LogMethod,
    admitted: boolean,
    args: unknown[],
  ): unknown {
    if (!this.#active) return admitted ? method.apply(logger, args) : undefined;
    if (decision.taken) return writeLast(() => method.apply(logger, args));
    const describe = () => describeLine(logger, method, args, this.#symbols);
    if (!this.#passes(logger, category, admitted, args[0], args[1], describe)) return undefined;
    if (admitted) return method.apply(logger, args);
    try {
      return method.apply(logger, args);
    } catch (error) {
      this.#adopter.failed(error, category);
      return undefined;
    }
  }

  #passes(
    logger: PinoLogger,
    category: AdoptedCategory,
    admitted: boolean,
    first: unknown,
    second: unknown,
    describe: () => Described = undescribed,
  ): boolean {
    if (!category.wanted) return admitted && !category.decided;
    const text = typeof first === 'string' ? first : typeof second === 'string' ? second : '';
    const bindings = logger[this.#symbols.chindings];
    const bytes = text.length + 64 + (typeof bindings === 'string' ? bindings.length : 0);
    return category.passes(text, describe, bytes, admitted);
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
      if (!this.#isGated.has(value as object)) continue;
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
