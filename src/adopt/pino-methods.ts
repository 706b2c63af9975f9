import type { Described } from '../gate/types.ts';
import { decision, writeLast } from './decision.ts';
import { undescribed } from './loggers.ts';
import type { PinoLevels } from './pino-levels.ts';
import { describeLine, type LogMethod, type PinoLogger, type PinoSymbols } from './pino-logger.ts';
import type { AdoptedCategory } from './types.ts';

type Methods = readonly (readonly [level: string, method: LogMethod])[];

/** The gated methods of all loggers of a category that are alike in what they depend on. */
interface Plan {
  readonly levels: object;
  readonly hook: object;
  readonly compare: unknown;
  /** `undefined` for loggers without a level of their own. */
  readonly threshold: unknown;
  readonly methods: Methods;
}

/** More kinds of loggers in one category are unusual; plans of further ones are made each time. */
const MAX_PLANS = 16;

/** What stands in place of pino's methods below INFO: a bit test, then a decision, then pino's own method. */
export class PinoMethods {
  /** Methods that cannot be reached any more behave as pino's own while this is false. */
  active = false;
  readonly #symbols: PinoSymbols;
  readonly #levels: PinoLevels;
  readonly #failed: (error: unknown, category: AdoptedCategory) => void;
  readonly #plans = new WeakMap<object, Plan[]>();
  readonly #ours = new WeakSet<object>();

  /** @param failed reports a line that pino could not write, and would not have written without us */
  constructor(symbols: PinoSymbols, levels: PinoLevels, failed: (error: unknown, category: AdoptedCategory) => void) {
    this.#symbols = symbols;
    this.#levels = levels;
    this.#failed = failed;
  }

  isOurs(method: unknown): boolean {
    return typeof method === 'function' && this.#ours.has(method);
  }

  /** @param hasLevel whether the logger has a level of its own: others ask for it at each call */
  of(logger: PinoLogger, category: AdoptedCategory | undefined, hasLevel: boolean): Methods {
    const { levels } = logger;
    const hook = this.#levels.hookOf(logger);
    const compare = this.#symbols.levelComp && logger[this.#symbols.levelComp];
    const threshold = hasLevel ? logger[this.#symbols.levelVal] : undefined;
    const key = category ?? this;
    const plans = this.#plans.get(key) ?? [];
    this.#plans.set(key, plans);
    for (const plan of plans) {
      if (plan.threshold !== threshold || plan.hook !== hook) continue;
      if (plan.levels === levels && plan.compare === compare) return plan.methods;
    }
    const methods = this.#make(logger, category, hasLevel);
    if (plans.length >= MAX_PLANS) plans.shift();
    plans.push({ levels, hook, compare, threshold, methods });
    return methods;
  }

  #make(logger: PinoLogger, category: AdoptedCategory | undefined, hasLevel: boolean): Methods {
    return [...this.#levels.belowInfo(logger)].flatMap((level) => {
      const admitted = this.#levels.admits(logger, level);
      if (hasLevel && !admitted && this.#levels.isSilent(logger)) return [];
      const method = this.#levels.methodOf(logger, level);
      if (method === undefined) return [];
      const gated =
        category === undefined
          ? this.#ungated(level, method)
          : !hasLevel
            ? this.#asking(logger, category, level, method)
            : admitted
              ? this.#deciding(category, true, method)
              : this.#refused(this.#deciding(category, false, method), category);
      this.#ours.add(gated);
      return [[level, gated] as const];
    });
  }

  /** For a logger without a category. */
  #ungated(level: string, method: LogMethod): LogMethod {
    const levels = this.#levels;
    return function (...args) {
      return levels.admits(this, level) ? method.apply(this, args) : undefined;
    };
  }

  /** For a logger that takes its level from its parent. */
  #asking(logger: PinoLogger, category: AdoptedCategory, level: string, method: LogMethod): LogMethod {
    const levels = this.#levels;
    const { levelVal } = this.#symbols;
    const value = logger.levels.values[level]!;
    // Without the call of a function where pino compares as it does by default.
    const ascending = levels.isAscending(logger);
    const admitted = this.#deciding(category, true, method);
    const refused = this.#deciding(category, false, method);
    const unlessSilent: LogMethod = function (...args) {
      return levels.isSilent(this) ? undefined : refused.apply(this, args);
    };
    const compare: LogMethod = function (...args) {
      return levels.admits(this, level) ? admitted.apply(this, args) : unlessSilent.apply(this, args);
    };
    return function (...args) {
      if (!ascending) return compare.apply(this, args);
      if (value >= (this[levelVal] as number)) return admitted.apply(this, args);
      return category.wanted || decision.taken ? unlessSilent.apply(this, args) : undefined;
    };
  }

  /** For a level that the logger's own does not admit. */
  #refused(method: LogMethod, category: AdoptedCategory): LogMethod {
    return function (...args) {
      return category.wanted || decision.taken ? method.apply(this, args) : undefined;
    };
  }

  /** @param admitted whether the logger's own level admits the line */
  #deciding(category: AdoptedCategory, admitted: boolean, method: LogMethod): LogMethod {
    const methods = this;
    const write = admitted ? method : this.#contained(category, method);
    // V8 makes no array of arguments whose elements are read, or that are passed on by `apply`, and nothing else.
    const special: LogMethod = function (...args) {
      return methods.#special(this, category, admitted, method, write, args);
    };
    return function (...args) {
      if (decision.taken || !methods.active || category.tapped) return special.apply(this, args);
      return methods.#passes(this, category, admitted, args[0], args[1], undescribed)
        ? write.apply(this, args)
        : undefined;
    };
  }

  /** Without us there would have been no line and no error. */
  #contained(category: AdoptedCategory, method: LogMethod): LogMethod {
    const methods = this;
    return function (...args) {
      try {
        return method.apply(this, args);
      } catch (error) {
        methods.#failed(error, category);
        return undefined;
      }
    };
  }

  /** More is to be done about the line than to let it pass or not. */
  #special(
    logger: PinoLogger,
    category: AdoptedCategory,
    admitted: boolean,
    method: LogMethod,
    write: LogMethod,
    args: unknown[],
  ): unknown {
    if (!this.active) return admitted ? method.apply(logger, args) : undefined;
    if (decision.taken) return writeLast(() => method.apply(logger, args));
    const describe = () => describeLine(logger, method, args, this.#symbols);
    return this.#passes(logger, category, admitted, args[0], args[1], describe) ? write.apply(logger, args) : undefined;
  }

  #passes(
    logger: PinoLogger,
    category: AdoptedCategory,
    admitted: boolean,
    first: unknown,
    second: unknown,
    describe: () => Described,
  ): boolean {
    if (!category.wanted) return admitted && !category.decided;
    const text = typeof first === 'string' ? first : typeof second === 'string' ? second : '';
    const bindings = logger[this.#symbols.chindings];
    const bytes = text.length + 64 + (typeof bindings === 'string' ? bindings.length : 0);
    return category.passes(text, describe, bytes, admitted);
  }
}
