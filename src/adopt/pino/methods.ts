import type { Described } from '../../gate/types.ts';
import { decision, passesInFront, writeLast } from '../decision.ts';
import type { AdoptedCategory } from '../types.ts';
import { type PinoLevel, PinoLevels } from './levels.ts';
import { describeLine, type LogMethod, type PinoLogger, type PinoParts, type PinoSymbols } from './logger.ts';
import { type Call, redactedCall } from './redacted-call.ts';

interface PinoMethodsOptions {
  /** The category of a logger at this moment. `undefined` for a logger that is not adopted. */
  readonly categoryOf: (logger: PinoLogger) => AdoptedCategory | undefined;
  /** Reports a line that pino could not write, and would not have written without us. */
  readonly failed: (error: unknown, category: AdoptedCategory) => void;
}

/** Replacements of pino's methods: a bit test, then a decision, then pino's own method. */
export class PinoMethods {
  /** Methods that cannot be reached any more behave as pino's own while this is false. */
  active = false;
  readonly levels: PinoLevels;
  readonly #symbols: PinoSymbols;
  readonly #options: PinoMethodsOptions;

  constructor(parts: PinoParts, options: PinoMethodsOptions) {
    this.levels = new PinoLevels(parts, (level) => this.#gated(level));
    this.#symbols = parts.symbols;
    this.#options = options;
  }

  #gated({ value, level, isDebug, method }: Omit<PinoLevel, 'gated'>): LogMethod {
    const methods = this;
    const { categoryOf } = this.#options;
    return function (...args) {
      const admitted = methods.levels.admits(this, value);
      const category = methods.active ? categoryOf(this) : undefined;
      if (category === undefined) return admitted ? method.apply(this, args) : undefined;
      const isOwn = admitted && !isDebug;
      if (category.wanted || decision.front !== 'none') {
        const isHeld = decision.front !== 'decided' && category.holdsBack(level);
        // Taps get what the category has lines of, and not what is the application's own.
        if (isHeld && (isOwn || !(category.tapped || category.recorded))) return undefined;
        return isOwn ? method.apply(this, args) : methods.#decide(this, category, method, { level }, admitted, args);
      }
      return isOwn || (admitted && !category.decided) ? method.apply(this, args) : undefined;
    };
  }

  /** @param admitted whether the logger's own level admits the line */
  #decide(
    logger: PinoLogger,
    category: AdoptedCategory,
    method: LogMethod,
    { level }: Pick<PinoLevel, 'level'>,
    admitted: boolean,
    args: unknown[],
  ) {
    if (!admitted && this.levels.isSilent(logger)) return undefined;
    const isDecided = decision.front === 'decided';
    const asItIs = admitted && (isDecided || !category.decided);
    const { isRecorded } = decision;
    let made: Call | undefined;
    const redacted = () => (made ??= redactedCall(logger, args, category, this.#symbols));
    const describe = (): Described | undefined => {
      const described = describeLine(...redacted(), method, this.#symbols);
      return described && { ...described, isRecorded };
    };
    const passes =
      (isDecided && admitted) ||
      passesInFront() ||
      (!isDecided && this.#passes(logger, category, level, admitted, args, describe));
    if (!passes) return undefined;
    try {
      return writeLast(() => method.apply(...(asItIs ? ([logger, args] as const) : redacted())));
    } catch (error) {
      if (admitted) throw error;
      this.#options.failed(error, category);
      return undefined;
    }
  }

  #passes(
    logger: PinoLogger,
    category: AdoptedCategory,
    level: number,
    admitted: boolean,
    [first, second]: readonly unknown[],
    describe: () => Described | undefined,
  ): boolean {
    const text = typeof first === 'string' ? first : typeof second === 'string' ? second : '';
    const bindings = logger[this.#symbols.chindings];
    const bytes = text.length + 64 + (typeof bindings === 'string' ? bindings.length : 0);
    return category.passes(bytes, describe, admitted, level);
  }
}
