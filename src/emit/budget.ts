import { DROP, type DropCode } from '../gate/drops.ts';
import type { Refusal } from '../gate/types.ts';
import { NO_BUCKET, TICKS_PER_SECOND, type TokenBuckets } from './buckets.ts';
import { FirstTexts } from './first-texts.ts';

/** What a category may emit. */
export interface Rate {
  readonly callsPerSecond: number;
  /** Calls that may come at once. */
  readonly burst: number;
  /** @default no limit of its own */
  readonly bytesPerSecond?: number | undefined;
}

/** Totals of a control. The control ends when one is used up. */
export interface Totals {
  readonly calls?: number | undefined;
  readonly bytes?: number | undefined;
}

/** The units of one call. */
const CALL = TICKS_PER_SECOND;
/** Share of the rate that the first call of a text may take in advance. */
const ADVANCE = 0.1;
/** The same for the calls of quiet categories, whose calls are no more than this share of their rate. */
const ADVANCE_OF_QUIET = 0.2;
const QUIET = 0.05;

interface Units {
  readonly calls: number;
  readonly bytes: number;
}

function unitsInAdvance({ callsPerSecond, bytesPerSecond = 0 }: Rate, share: number): Units {
  return {
    calls: CALL - Math.max(1, Math.floor(callsPerSecond * share)) * CALL,
    bytes: -bytesPerSecond * share * TICKS_PER_SECOND,
  };
}

/** A pair of buckets, for calls and for bytes. */
export class RateBuckets {
  readonly rate: Rate;
  readonly #buckets: TokenBuckets;
  readonly #calls: number;
  readonly #bytes: number;
  /** Least units at which a call passes. */
  readonly #forFirst: Units;
  readonly #forQuiet: Units;

  constructor(buckets: TokenBuckets, rate: Rate) {
    const { callsPerSecond, burst, bytesPerSecond } = rate;
    this.rate = rate;
    this.#buckets = buckets;
    this.#calls = buckets.open(callsPerSecond, burst);
    this.#bytes = bytesPerSecond === undefined ? NO_BUCKET : buckets.open(bytesPerSecond, bytesPerSecond);
    this.#forFirst = unitsInAdvance(rate, ADVANCE);
    this.#forQuiet = unitsInAdvance(rate, ADVANCE_OF_QUIET);
  }

  /** Whether there is room for any call. */
  get ample(): boolean {
    const { units } = this.#buckets;
    return units[this.#calls]! >= CALL && (this.#bytes === NO_BUCKET || units[this.#bytes]! > 0);
  }

  /** Whether there is room for the first call of a text. */
  get enoughForFirst(): boolean {
    return this.#atLeast(this.#forFirst);
  }

  /** Whether there is room for the call of a quiet category. */
  get enoughForQuiet(): boolean {
    return this.#atLeast(this.#forQuiet);
  }

  /** Number of whole calls that fit now. */
  get callsLeft(): number {
    return Math.max(0, Math.floor(this.#buckets.units[this.#calls]! / CALL));
  }

  #atLeast({ calls, bytes }: Units): boolean {
    const { units } = this.#buckets;
    return units[this.#calls]! >= calls && (this.#bytes === NO_BUCKET || units[this.#bytes]! > bytes);
  }

  takeCall(): void {
    this.#buckets.units[this.#calls]! -= CALL;
  }

  takeBytes(bytes: number): void {
    if (this.#bytes !== NO_BUCKET) this.#buckets.units[this.#bytes]! -= bytes * TICKS_PER_SECOND;
  }

  close(): void {
    this.#buckets.close(this.#calls);
    this.#buckets.close(this.#bytes);
  }
}

/** Differs from every message. */
const NOTHING = Symbol('nothing');

/** Callbacks of a {@link Budget}. */
interface Keeper {
  /** Tokens were taken and need to be refilled. */
  taken(): void;
  /** The first call was dropped since the last record about drops. */
  overspent(budget: Budget): void;
  /** A total is used up. */
  exhausted(budget: Budget): void;
}

/**
 * The budget of one category, or of one control of it. Above the rate, the first call of each text passes before texts
 * that already passed in this second, so that one chatty line does not starve the others. Above the rate of the process,
 * calls of a quiet category pass as well.
 */
export class Budget implements Refusal {
  readonly own: RateBuckets | undefined;
  /** The process budget, which every category shares. */
  readonly shared: RateBuckets | undefined;
  /** Calls dropped since the last record about drops. */
  dropped = 0;
  callsLeft: number;
  bytesLeft: number;
  readonly #keeper: Keeper;
  readonly #texts = new FirstTexts();
  /** Calls admitted in this second, and {@link dropped} as it began. */
  #admitted = 0;
  #droppedBefore = 0;
  /** All calls of the second before. */
  #callsBefore = 0;
  /** The last text refused. It stays refused until the next tick. */
  message: unknown = NOTHING;
  /** Why it was refused. */
  code: DropCode = DROP.budget;

  constructor(keeper: Keeper, own: RateBuckets | undefined, shared: RateBuckets | undefined, totals: Totals = {}) {
    this.#keeper = keeper;
    this.own = own;
    this.shared = shared;
    this.callsLeft = totals.calls ?? Number.POSITIVE_INFINITY;
    this.bytesLeft = totals.bytes ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Takes the tokens of a call, before anything of it is built. @returns why it must be dropped, otherwise `undefined`
   */
  admit(message: unknown): DropCode | undefined {
    if (message === this.message) {
      this.dropped += 1;
      return this.code;
    }
    const { own, shared } = this;
    if (this.callsLeft <= 0 || this.bytesLeft <= 0) return this.#refuse(message, DROP.budget);
    const room = own === undefined || own.ample;
    if (room && (shared === undefined || shared.ample || (shared.enoughForQuiet && this.#isQuiet))) {
      this.#texts.passed(message);
    } else {
      if (own?.enoughForFirst === false) return this.#refuse(message, DROP.budget);
      if (shared?.enoughForFirst === false) return this.#refuse(message, DROP.process_budget);
      if (!this.#texts.isFirst(message)) {
        return this.#refuse(message, own?.ample === false ? DROP.budget : DROP.process_budget);
      }
    }
    own?.takeCall();
    shared?.takeCall();
    this.#admitted += 1;
    this.#keeper.taken();
    return undefined;
  }

  get #calls(): number {
    return this.#admitted + this.dropped - this.#droppedBefore;
  }

  get #isQuiet(): boolean {
    const most = (this.own?.rate.callsPerSecond ?? 0) * QUIET;
    return this.#callsBefore < most && this.#calls < most;
  }

  /** Returns the number of calls dropped since it was asked last. */
  takeDropped(): number {
    const { dropped } = this;
    this.dropped = 0;
    this.#droppedBefore -= dropped;
    return dropped;
  }

  /** Accounts for the bytes of an admitted call. */
  spend(bytes: number): void {
    this.own?.takeBytes(bytes);
    this.shared?.takeBytes(bytes);
    this.callsLeft -= 1;
    this.bytesLeft -= bytes;
    if (this.callsLeft <= 0 || this.bytesLeft <= 0) this.#keeper.exhausted(this);
  }

  /** Called after a refill. @param second whether a new second began */
  refilled(second: boolean): void {
    this.message = NOTHING;
    if (!second) return;
    this.#texts.forget();
    this.#callsBefore = this.#calls;
    this.#admitted = 0;
    this.#droppedBefore = this.dropped;
  }

  #refuse(message: unknown, code: DropCode): DropCode {
    if (this.dropped === 0) this.#keeper.overspent(this);
    this.dropped += 1;
    this.message = message;
    this.code = code;
    return code;
  }
}
