import {
  type Activation,
  GLOBAL_SCOPE,
  NO_END,
  type Overlay,
  type ScopeKey,
  type ScopeState,
  type Setting,
  type Settings,
} from '../store/state-store.ts';
import { MAX_CLOCK_SKEW_MS } from '../wire/constants.ts';
import type { Clock } from '../wire/time/clock.ts';
import { type EndCheck, type Layers, liveOverlays, longestRecording, putSetting, sameOverlay } from './transition.ts';

/** A scope that was never written. */
export const UNWRITTEN: ScopeState = { revision: 0, settings: new Map() };
const NO_OVERLAYS: ReadonlyMap<string, Overlay> = new Map();
const NONE_ENDED: ReadonlyMap<ScopeKey, ReadonlySet<string>> = new Map();
const NEVER: Moment = { wall: Number.POSITIVE_INFINITY, monotonic: Number.POSITIVE_INFINITY };

/** Drift between wall and monotonic clock, in milliseconds, that does not count as a clock step. */
const STEP_MS = 1000;

/** The time at which a scope's state was written, as far as it is known. */
export interface Provenance {
  /** A lower bound for the current time, from the writer's wall clock; milliseconds since the epoch. */
  readonly writtenAt?: number | undefined;
  /**
   * The state was written before this process started. When the clock then reads much earlier than `writtenAt`, it was
   * set back by an unknown amount, and overlays end at once.
   */
  readonly restored?: boolean;
}

/** A point in time on both clocks. An overlay ends at whichever comes first. */
interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

interface Temporary {
  readonly enabled?: boolean;
  readonly record?: true | undefined;
  readonly expiresAt: number;
}

/** The state of every scope that this process knows, and when its temporary controls end. */
export class ScopeStates {
  /** Scopes with local controls, or with ended controls that are still stored. */
  readonly unsettled: Set<ScopeKey> = new Set();
  readonly ended: EndCheck = (control) => this.#deadlines.hasEnded(control, this.#now());
  /** Whether a temporary control ended because its budget was used up. */
  readonly spent: EndCheck = (control) => this.#deadlines.isSpent(control);
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #states = new Map<ScopeKey, ScopeState>();
  /** Local temporary controls, and the merged settings of scopes that have some. */
  readonly #local = new Map<ScopeKey, ReadonlyMap<string, Overlay>>();
  readonly #merged = new Map<ScopeKey, Settings>();
  /** Scopes with temporary controls: an index that avoids a scan of all tenants. */
  readonly #temporary = new Set<ScopeKey>();
  #nextEnd = NEVER;
  #offset: number;

  /** @param maxDuration in seconds; caps every temporary control, whatever its end says */
  constructor(clock: Clock, maxDuration: number) {
    this.#clock = clock;
    this.#deadlines = new Deadlines(maxDuration);
    this.#offset = clock.now() - clock.monotonic();
  }

  /** Returns a check that reads the clock once, on its first call, so that all answers agree. */
  endedTogether(): EndCheck {
    let now: Moment | undefined;
    return (control) => {
      now ??= this.#now();
      return this.#deadlines.hasEnded(control, now);
    };
  }

  /** The stored state of the scope, as far as this process knows. */
  stored(key: ScopeKey): ScopeState {
    return this.#states.get(key) ?? UNWRITTEN;
  }

  /** The settings in force in this process, local controls included. */
  settings(key: ScopeKey): Settings {
    return this.#merged.get(key) ?? this.stored(key).settings;
  }

  /** The layers that decide for a scope in this process. */
  layers(key: ScopeKey): Layers {
    return { global: this.settings(GLOBAL_SCOPE), tenant: key === GLOBAL_SCOPE ? undefined : this.settings(key) };
  }

  /** Every scope that was ever written. */
  keys(): Iterable<ScopeKey> {
    return this.#states.keys();
  }

  local(key: ScopeKey): ReadonlyMap<string, Overlay> {
    return this.#local.get(key) ?? NO_OVERLAYS;
  }

  /** Applies the stored state of a scope. Returns the categories whose setting may differ. */
  adopt(key: ScopeKey, state: ScopeState, provenance: Provenance = { writtenAt: state.changedAt }): Set<string> {
    const now = this.#now();
    const previous = this.stored(key);
    const adopted = this.#deadlines.adopt(state.settings, previous.settings, provenance, now);
    const touched = changedBetween(previous.settings, adopted);
    const activations = this.#deadlines.adoptAll(state.activations, previous.activations, provenance, now);
    this.#states.set(key, { ...state, settings: adopted, activations });
    const local = this.local(key);
    if (local.size > 0) {
      // A control that is now stored is no longer local.
      const left = [...local].filter(([category, overlay]) => !sameOverlay(adopted.get(category)?.temporary, overlay));
      this.#setLocal(key, new Map(left), now);
    } else this.#index(key, now);
    return touched;
  }

  addLocal(key: ScopeKey, overlays: ReadonlyMap<string, Overlay>): void {
    const now = this.#now();
    const before = this.local(key);
    this.#setLocal(key, this.#deadlines.adoptOverlays(new Map([...before, ...overlays]), before, now), now);
  }

  dropLocal(key: ScopeKey, categories: Iterable<string>): void {
    const left = new Map(this.local(key));
    for (const category of categories) left.delete(category);
    if (left.size < this.local(key).size) this.#setLocal(key, left, this.#now());
  }

  /** Ends a temporary control whose budget is used up; the next sweep reports it. */
  spend(control: Overlay | Activation): void {
    this.#deadlines.spend(control);
    this.#nextEnd = { wall: Number.NEGATIVE_INFINITY, monotonic: Number.NEGATIVE_INFINITY };
  }

  /**
   * Finds ended controls. Nearly free while none has ended since the last sweep.
   * @returns every scope with one that is still stored, and the categories whose overlay ended; empty when none ended since
   */
  sweep(): { readonly clockSet: boolean; readonly ended: ReadonlyMap<ScopeKey, ReadonlySet<string>> } {
    const now = this.#now();
    const clockSet = Math.abs(now.wall - now.monotonic - this.#offset) > STEP_MS;
    if (clockSet) this.#correctEnds(now);
    if (now.wall < this.#nextEnd.wall && now.monotonic < this.#nextEnd.monotonic)
      return { clockSet, ended: NONE_ENDED };
    const ended = new Map<ScopeKey, Set<string>>();
    this.#nextEnd = NEVER;
    for (const key of this.#temporary) {
      this.#eachTemporary(key, (control, category) => {
        if (!this.#deadlines.hasEnded(control, now)) {
          this.#nextEnd = earlier(this.#nextEnd, this.#deadlines.endOf(control));
          return;
        }
        const categories = ended.get(key) ?? new Set<string>();
        if (category !== undefined) categories.add(category);
        ended.set(key, categories);
      });
    }
    for (const key of ended.keys()) this.unsettled.add(key);
    return { clockSet, ended };
  }

  /** Milliseconds until the next temporary control ends; infinity when there is none. */
  untilNextEnd(): number {
    const { wall, monotonic } = this.#now();
    return Math.min(this.#nextEnd.wall - wall, this.#nextEnd.monotonic - monotonic);
  }

  live(key: ScopeKey): number {
    return liveOverlays(this.settings(key), this.ended).size + this.liveActivations(key).length;
  }

  /** The stored activations of a scope, ended or not. */
  activations(key: ScopeKey): readonly Activation[] {
    return this.stored(key).activations ?? [];
  }

  liveActivations(key: ScopeKey): readonly Activation[] {
    return this.activations(key).filter((each) => !this.ended(each));
  }

  liveEverywhere(): number {
    return [...this.#temporary].reduce((sum, key) => sum + this.live(key), 0);
  }

  #now(): Moment {
    return { wall: this.#clock.now(), monotonic: this.#clock.monotonic() };
  }

  #eachTemporary(key: ScopeKey, visit: (control: Overlay | Activation, category?: string) => void): void {
    this.stored(key).settings.forEach(({ temporary }, category) => {
      if (temporary !== undefined) visit(temporary, category);
    });
    for (const [category, overlay] of this.local(key)) visit(overlay, category);
    for (const activation of this.activations(key)) visit(activation);
  }

  /** Updates the indexes after a scope changed. */
  #index(key: ScopeKey, now: Moment): void {
    const local = this.local(key);
    if (local.size === 0) this.#merged.delete(key);
    else {
      const merged = new Map(this.stored(key).settings);
      for (const [category, temporary] of local) {
        putSetting(merged, category, { ...merged.get(category), temporary });
      }
      this.#merged.set(key, merged);
    }
    this.#temporary.delete(key);
    this.unsettled.delete(key);
    if (local.size > 0) this.unsettled.add(key);
    this.#eachTemporary(key, (control) => {
      this.#temporary.add(key);
      if (this.#deadlines.hasEnded(control, now)) this.unsettled.add(key);
      else this.#nextEnd = earlier(this.#nextEnd, this.#deadlines.endOf(control));
    });
  }

  #setLocal(key: ScopeKey, overlays: ReadonlyMap<string, Overlay>, now: Moment): void {
    if (overlays.size === 0) this.#local.delete(key);
    else this.#local.set(key, overlays);
    this.#index(key, now);
  }

  /** Recomputes ends after a wall-clock step. */
  #correctEnds(now: Moment): void {
    this.#offset = now.wall - now.monotonic;
    for (const key of this.#temporary) {
      const state = this.stored(key);
      const settings = this.#deadlines.adopt(state.settings, state.settings, {}, now);
      const activations = this.#deadlines.adoptAll(state.activations, state.activations, {}, now);
      this.#states.set(key, { ...state, settings, activations });
      const local = this.local(key);
      if (local.size > 0) this.#local.set(key, this.#deadlines.adoptOverlays(local, local, now));
    }
    for (const key of [...this.#temporary]) this.#index(key, now);
  }
}

interface Deadline {
  /** On the monotonic clock; minus infinity once the control has ended. */
  at: number;
  spent?: true;
  /** The control as written: its original end identifies it after `expiresAt` was corrected. */
  readonly written: Temporary;
}

/**
 * When temporary controls end. The store keeps an end in wall time. This process adds an end on its monotonic clock when
 * it first sees the control. The earlier one counts, so a clock step can shorten a temporary control but never extend it.
 */
class Deadlines {
  readonly #deadlines = new WeakMap<Temporary, Deadline>();
  readonly #maxDuration: number;

  constructor(maxDuration: number) {
    this.#maxDuration = maxDuration;
  }

  endOf(control: Temporary): Moment {
    return { wall: control.expiresAt, monotonic: this.#deadlines.get(control)?.at ?? Number.POSITIVE_INFINITY };
  }

  /** A control that has ended stays ended, even when the clock is set back. */
  hasEnded(control: Temporary, now: Moment): boolean {
    const deadline = this.#deadlines.get(control);
    if (now.wall < control.expiresAt && (deadline === undefined || now.monotonic < deadline.at)) return false;
    if (deadline !== undefined) deadline.at = Number.NEGATIVE_INFINITY;
    return true;
  }

  spend(control: Temporary): void {
    const deadline = this.#deadlines.get(control);
    if (deadline === undefined || deadline.at === Number.NEGATIVE_INFINITY) return;
    deadline.at = Number.NEGATIVE_INFINITY;
    deadline.spent = true;
  }

  isSpent(control: Temporary): boolean {
    return this.#deadlines.get(control)?.spent === true;
  }

  /** Gives every overlay a deadline. Returns the same object when nothing changes. */
  adopt(settings: Settings, previous: Settings, provenance: Provenance, now: Moment): Settings {
    let result: Map<string, Setting> | undefined;
    settings.forEach((setting, category) => {
      const { temporary } = setting;
      if (temporary === undefined) return;
      const overlay = this.#adoptOne(temporary, previous.get(category)?.temporary, provenance, now);
      if (overlay === temporary) return;
      result ??= new Map(settings);
      result.set(category, { ...setting, temporary: overlay });
    });
    return result ?? settings;
  }

  adoptOverlays(overlays: ReadonlyMap<string, Overlay>, previous: ReadonlyMap<string, Overlay>, now: Moment) {
    const adopted = [...overlays].map(
      ([category, overlay]) => [category, this.#adoptOne(overlay, previous.get(category), {}, now)] as const,
    );
    return new Map(adopted);
  }

  adoptAll(
    activations: readonly Activation[] = [],
    previous: readonly Activation[] = [],
    provenance: Provenance,
    now: Moment,
  ): readonly Activation[] {
    const before = new Map(previous.map((each) => [each.id, each]));
    return activations.map((each) => this.#adoptOne(each, before.get(each.id), provenance, now));
  }

  /**
   * Gives a control a deadline. One that was seen before keeps its deadline, and after a backward clock step its
   * `expiresAt` follows.
   */
  #adoptOne<T extends Temporary>(given: T, before: T | undefined, provenance: Provenance, now: Moment): T {
    const deadline =
      this.#deadlines.get(given) ?? this.#carriedOver(given, before) ?? this.#firstSeen(given, provenance, now);
    const adopted = corrected(given, deadline, now);
    this.#deadlines.set(adopted, deadline);
    return adopted;
  }

  /** The deadline of a control seen before, even when its end was corrected since. */
  #carriedOver(control: Temporary, before: Temporary | undefined): Deadline | undefined {
    const deadline = before && this.#deadlines.get(before);
    if (before?.enabled !== control.enabled || deadline === undefined) return undefined;
    return control.expiresAt === before?.expiresAt || control.expiresAt === deadline.written.expiresAt
      ? deadline
      : undefined;
  }

  #firstSeen(written: Temporary, { writtenAt = 0, restored = false }: Provenance, now: Moment): Deadline {
    if (written.expiresAt === NO_END) return { at: Number.POSITIVE_INFINITY, written };
    if (restored && writtenAt - now.wall > MAX_CLOCK_SKEW_MS) return { at: Number.NEGATIVE_INFINITY, written };
    const maxDuration = written.record ? longestRecording({ maxDuration: this.#maxDuration }) : this.#maxDuration;
    const remaining = Math.min(written.expiresAt - Math.max(now.wall, writtenAt), maxDuration * 1000);
    return { at: now.monotonic + remaining, written };
  }
}

/** The control with its end corrected for the current wall clock. */
function corrected<T extends Temporary>(control: T, deadline: Deadline, now: Moment): T {
  const end = Math.floor(now.wall + deadline.at - now.monotonic);
  // An ended control keeps its recorded end.
  if (control.expiresAt - end <= STEP_MS || end <= now.wall) return control;
  return { ...control, expiresAt: end };
}

function earlier(a: Moment, b: Moment): Moment {
  return { wall: Math.min(a.wall, b.wall), monotonic: Math.min(a.monotonic, b.monotonic) };
}

function changedBetween(before: Settings, after: Settings): Set<string> {
  const changed = new Set<string>();
  after.forEach((setting, category) => {
    if (!sameSetting(before.get(category), setting)) changed.add(category);
  });
  before.forEach((_setting, category) => {
    if (!after.has(category)) changed.add(category);
  });
  return changed;
}

function sameSetting(a: Setting | undefined, b: Setting | undefined): boolean {
  if (a === b) return true;
  if (a?.permanent !== b?.permanent || a?.level !== b?.level || a?.by?.at !== b?.by?.at) return false;
  return sameOverlay(a?.temporary, b?.temporary);
}
