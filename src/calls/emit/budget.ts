import { DROP, type DropCode } from '../../gate/drops.ts';
import type { CategoryDescriptor, Refusal } from '../../gate/types.ts';
import { mayTake } from './fairness.ts';

/** Refill interval in milliseconds. */
export const TICK_MS = 100;
export const TICKS_PER_SECOND = 1000 / TICK_MS;

/** Calls and bytes that a category may emit. */
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

/** A call takes as many units as a second has ticks, so that every rate is a whole number of units per tick. */
const UNITS = TICKS_PER_SECOND;

/** A token bucket. Reads no clock: after the event loop was blocked for a minute, one tick's tokens are added. */
class Bucket {
  /** Negative when more was taken than there was. */
  units: number;
  readonly #perTick: number;
  readonly #capacity: number;

  /** Holds at least one tick's tokens: a smaller one would cap the rate. */
  constructor(perSecond: number, burst: number) {
    this.#perTick = perSecond;
    this.#capacity = Math.max(burst * UNITS, perSecond);
    this.units = this.#capacity;
  }

  /** Adds one tick's tokens. @returns whether it is full */
  refill(): boolean {
    this.units = Math.min(this.units + this.#perTick, this.#capacity);
    return this.units === this.#capacity;
  }
}

/** Seconds of the process's rate that are its reserve. */
const RESERVE_SECONDS = 0.2;

/** The calls and bytes that one category, or all of them together, may emit now. */
export class Allowance {
  readonly rate: Rate;
  readonly #calls: Bucket;
  readonly #bytes: Bucket | undefined;

  constructor(rate: Rate) {
    const { callsPerSecond, burst, bytesPerSecond } = rate;
    this.rate = rate;
    this.#calls = new Bucket(callsPerSecond, burst);
    this.#bytes = bytesPerSecond === undefined ? undefined : new Bucket(bytesPerSecond, bytesPerSecond);
  }

  get isEmpty(): boolean {
    return this.#calls.units < UNITS || (this.#bytes !== undefined && this.#bytes.units <= 0);
  }

  /** Whether there is room for a category that took so much of it lately. */
  admits(calls: number, bytes: number): boolean {
    if (!this.isEmpty) return true;
    const { callsPerSecond, bytesPerSecond = 0 } = this.rate;
    return (
      admits(this.#calls, calls, callsPerSecond) &&
      (this.#bytes === undefined || admits(this.#bytes, bytes, bytesPerSecond))
    );
  }

  /** Number of whole calls that fit now. */
  get callsLeft(): number {
    return Math.max(0, Math.floor(this.#calls.units / UNITS));
  }

  takeCall(): void {
    this.#calls.units -= UNITS;
  }

  takeBytes(bytes: number): void {
    if (this.#bytes !== undefined) this.#bytes.units -= bytes * UNITS;
  }

  /** Adds one tick's tokens. @returns whether all are there */
  refill(): boolean {
    const bytesFull = this.#bytes?.refill() ?? true;
    return this.#calls.refill() && bytesFull;
  }
}

function admits({ units }: Bucket, taken: number, perSecond: number): boolean {
  const reserve = perSecond * RESERVE_SECONDS;
  return mayTake(taken, Math.floor(units / UNITS) + reserve, reserve);
}

/** Receives what happens to a {@link Budget}. */
interface Keeper {
  /** Calls were admitted or dropped: there is something to refill or to report. */
  used(budget: Budget): void;
}

/** Part of what a category took of the process's budget that still counts a tick later: about its last second. */
const REMEMBERED = 1 - 1 / TICKS_PER_SECOND;

/** The budget of one category, or of one control of it. */
export class Budget implements Refusal {
  readonly category: Pick<CategoryDescriptor, 'index' | 'name'>;
  readonly own: Allowance | undefined;
  /** Calls dropped since the last record about drops. */
  dropped = 0;
  callsLeft: number;
  bytesLeft: number;
  /** Why calls are dropped until the next tick; `undefined` while there may be room. */
  refused: DropCode | undefined;
  readonly #keeper: Keeper;
  readonly #exhausted: (() => void) | undefined;
  /** The process budget, which every category shares, and what was taken of it lately. */
  readonly #shared: Allowance | undefined;
  #takenCalls = 0;
  #takenBytes = 0;

  /** @param exhausted called when a total is used up */
  constructor(
    keeper: Keeper,
    category: Pick<CategoryDescriptor, 'index' | 'name'>,
    { own, shared }: { readonly own: Allowance | undefined; readonly shared: Allowance | undefined },
    totals: Totals = {},
    exhausted?: () => void,
  ) {
    this.#keeper = keeper;
    this.category = category;
    this.own = own;
    this.#shared = shared;
    this.callsLeft = totals.calls ?? Number.POSITIVE_INFINITY;
    this.bytesLeft = totals.bytes ?? Number.POSITIVE_INFINITY;
    this.#exhausted = exhausted;
  }

  /**
   * Takes the tokens of a call, before anything of it is built. @returns why it must be dropped, otherwise `undefined`
   */
  admit(): DropCode | undefined {
    if (this.hasRoom) this.take();
    else this.drop(1);
    return this.refused;
  }

  get hasRoom(): boolean {
    this.refused ??= this.#reason();
    return this.refused === undefined;
  }

  /** Takes the tokens of a call, also where there are none left. */
  take(): void {
    this.own?.takeCall();
    this.#shared?.takeCall();
    this.#takenCalls += 1;
    this.#keeper.used(this);
  }

  /** Counts calls that are dropped. */
  drop(calls: number): void {
    const isFirst = this.dropped === 0;
    this.dropped += calls;
    if (isFirst) this.#keeper.used(this);
  }

  #reason(): DropCode | undefined {
    if (this.callsLeft <= 0 || this.bytesLeft <= 0 || this.own?.isEmpty === true) return DROP.budget;
    return this.#shared?.admits(this.#takenCalls, this.#takenBytes) === false ? DROP.process_budget : undefined;
  }

  /** Returns the number of calls dropped since it was asked last. */
  takeDropped(): number {
    const { dropped } = this;
    this.dropped = 0;
    // Asks again at the next call, so that its drop is reported.
    this.refused = undefined;
    return dropped;
  }

  /** Accounts for the bytes of an admitted call. */
  spend(bytes: number): void {
    this.own?.takeBytes(bytes);
    this.#shared?.takeBytes(bytes);
    this.#takenBytes += bytes;
    this.callsLeft -= 1;
    this.bytesLeft -= bytes;
    if (this.callsLeft <= 0 || this.bytesLeft <= 0) this.#exhausted?.();
  }

  /**
   * Adds one tick's tokens. @returns whether all are there
   * @param sharedFull whether the process's budget is complete again
   */
  refill(sharedFull: boolean): boolean {
    this.refused = undefined;
    this.#takenCalls = sharedFull ? 0 : Math.floor(this.#takenCalls * REMEMBERED);
    this.#takenBytes = sharedFull ? 0 : Math.floor(this.#takenBytes * REMEMBERED);
    return this.own?.refill() ?? true;
  }
}
