import type { AuditDraft } from '../audit/types.ts';
import type { Clock, Delay } from '../clock.ts';
import { formatDuration } from '../protocol/time.ts';
import { GLOBAL_SCOPE, type Overlay, type ScopeKey, type Setting, type Settings } from '../store/state-store.ts';
import { nameSome, type Snapshot, sameOverlay, stateOf } from './transition.ts';

export interface AnnouncerOptions {
  readonly tenantOf: (key: ScopeKey) => string | undefined;
  /** Whether it ended because its budget was used up. */
  readonly spent: (overlay: Overlay) => boolean;
  readonly clock: Clock;
  readonly delay: Delay;
  /** Takes one line. @default nothing is announced */
  readonly announce?: ((line: string) => void) | undefined;
  /**
   * Where other processes write to the same stderr: returns true for the first of them that asks about an event.
   * @default this process says everything
   */
  readonly claim?: (() => ((event: string) => boolean) | undefined) | undefined;
}

/** Where a change comes from. */
export interface ChangeOrigin {
  /** The entry of a change that this process made; absent for a change of another process. */
  readonly draft?: AuditDraft | undefined;
  /** The revision of the scope that it came to. */
  readonly revision?: number;
  /** When it was made, in milliseconds since the epoch. */
  readonly changedAt?: number | undefined;
  /** It was in force before this process. */
  readonly restored?: boolean | undefined;
  /** It holds in this process alone. */
  readonly local?: boolean;
}

type Groups = ReadonlyMap<string, readonly string[]>;

interface Notice {
  readonly key: ScopeKey;
  readonly groups: Groups;
  readonly origin: ChangeOrigin;
}

/** Lines in a second; what comes beyond is counted in one line. */
const MAX_LINES = 10;
const SECOND_MS = 1000;
/** A temporary control that another process took out this shortly before its end here has ended. */
const NEAR_END_MS = 5000;
const LONGEST_NAME = 128;
/** A change of another process is claimed this much later: the process that made it knows who and why. */
const CLAIM_DELAY_MS = 250;

/** Announces what is switched in this process, and what ends: one line a change, however many categories it has. */
export class Announcer {
  /** While this process writes, changes that come by a message are held: they may be its own. */
  holding = false;
  readonly #options: AnnouncerOptions;
  /** Ends that were announced and whose temporary control is still in the settings. */
  readonly #knownEnds = new Map<ScopeKey, Map<string, number>>();
  #held: Notice[] = [];
  #windowBegan = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #more = 0;
  #cancelMore = () => {};

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /**
   * Announces what a change made of a scope.
   * @param before its settings until then
   * @param touched the categories whose setting may be another one
   */
  change(key: ScopeKey, before: Settings, after: Snapshot, touched: Iterable<string>, origin: ChangeOrigin): void {
    if (this.#options.announce === undefined) return;
    const settings = after.tenant ?? after.global;
    const groups = new Map<string, string[]>();
    for (const category of touched) {
      const setting = settings.get(category);
      if (origin.restored === true) {
        if (setting?.temporary !== undefined && after.ended(setting.temporary)) {
          this.#noteEnd(key, category, setting.temporary);
        }
        continue;
      }
      const state = this.#became(key, category, before.get(category), after, origin.changedAt);
      if (state !== undefined) groups.set(state, [...(groups.get(state) ?? []), category]);
      if (setting?.temporary === undefined) this.#forgetEnd(key, category);
    }
    const notice = { key, groups, origin };
    if (this.holding && origin.draft === undefined && groups.size > 0) this.#held.push(notice);
    else this.#announce(notice);
  }

  /** Announces what has just ended. */
  ended(key: ScopeKey, now: Snapshot, categories: Iterable<string>): void {
    if (this.#options.announce === undefined) return;
    const groups = new Map<string, string[]>();
    for (const category of categories) {
      const overlay = (now.tenant ?? now.global).get(category)?.temporary;
      if (overlay === undefined || !now.defaults.has(category) || !this.#isNewEnd(key, category, overlay)) continue;
      const state = this.#over(key, category, now, overlay);
      groups.set(state, [...(groups.get(state) ?? []), category]);
    }
    this.#announce({ key, groups, origin: {} });
  }

  /** The message of a change came before the answer to it. */
  own(key: ScopeKey, revision: number, draft: AuditDraft): void {
    const notice = this.#held.find((each) => each.key === key && each.origin.revision === revision);
    if (notice === undefined) return;
    this.#held = this.#held.filter((each) => each !== notice);
    this.#announce({ ...notice, origin: { ...notice.origin, draft } });
  }

  /** Ends {@link Announcer.holding}. */
  release(): void {
    this.holding = false;
    const others = this.#held;
    this.#held = [];
    for (const notice of others) this.#announce(notice);
  }

  close(): void {
    this.#writeRest();
  }

  /** In a cluster one process announces a change: the one that made it, else the first to claim it. */
  #announce(notice: Notice): void {
    const { key, groups, origin } = notice;
    if (groups.size === 0) return;
    const first = origin.revision === undefined ? undefined : this.#options.claim?.();
    if (first === undefined) {
      this.#write(notice);
      return;
    }
    const event = JSON.stringify(['change', key, origin.revision, origin.changedAt]);
    if (origin.draft === undefined) this.#options.delay(CLAIM_DELAY_MS, () => first(event) && this.#write(notice));
    else {
      first(event);
      this.#write(notice);
    }
  }

  #write({ groups, origin: { draft, local } }: Notice): void {
    const what = [...groups].map(([state, names]) => `${nameSome(names)} ${state}`).join('; ');
    const who = draft?.identity.userId ?? draft?.identity.clientId;
    this.#writeLine(
      [
        what,
        who === undefined ? '' : ` by ${who.slice(0, LONGEST_NAME)}`,
        local === true ? ', in this process alone until the store can be reached' : '',
        who === undefined || draft?.reason === undefined ? '' : `: ${draft.reason}`,
      ].join(''),
    );
  }

  #writeLine(line: string): void {
    const now = this.#options.clock.monotonic();
    if (this.#more === 0 && now - this.#windowBegan >= SECOND_MS) {
      this.#windowBegan = now;
      this.#lines = 0;
    }
    if (this.#more === 0 && this.#lines < MAX_LINES) {
      this.#lines += 1;
      this.#options.announce?.(line);
      return;
    }
    this.#more += 1;
    if (this.#more > 1) return;
    this.#cancelMore = this.#options.delay(this.#windowBegan + SECOND_MS - now, () => this.#writeRest());
  }

  #writeRest(): void {
    const { announce, clock } = this.#options;
    this.#cancelMore();
    if (this.#more > 0)
      announce?.(`${this.#more} more ${this.#more === 1 ? 'change' : 'changes'}, see the audit trail`);
    this.#more = 0;
    this.#lines = 1;
    this.#windowBegan = clock.monotonic();
  }

  /** Returns whether this process has not noted that end before. */
  #noteEnd(key: ScopeKey, category: string, { expiresAt }: Overlay): boolean {
    const known = this.#knownEnds.get(key) ?? new Map<string, number>();
    if (known.get(category) === expiresAt) return false;
    this.#knownEnds.set(key, known.set(category, expiresAt));
    return true;
  }

  /** Whether an end is to be announced, which it is once, by one process of a cluster. */
  #isNewEnd(key: ScopeKey, category: string, overlay: Overlay): boolean {
    if (!this.#noteEnd(key, category, overlay)) return false;
    return this.#options.claim?.()?.(JSON.stringify(['end', key, category, overlay.expiresAt])) ?? true;
  }

  #forgetEnd(key: ScopeKey, category: string): void {
    const known = this.#knownEnds.get(key);
    if (known?.delete(category) && known.size === 0) this.#knownEnds.delete(key);
  }

  #forWhom(key: ScopeKey): string {
    const tenantId = key === GLOBAL_SCOPE ? undefined : this.#options.tenantOf(key);
    return tenantId === undefined ? '' : ` for tenant ${tenantId.slice(0, LONGEST_NAME)}`;
  }

  #over(key: ScopeKey, category: string, now: Snapshot, overlay: Overlay): string {
    const why = this.#options.spent(overlay) ? 'the budget is used up' : 'the time is over';
    return `${stateOf(category, now).enabled ? 'on' : 'off'} again${this.#forWhom(key)}, ${why}`;
  }

  #remaining({ expiresAt }: Overlay, changedAt: number | undefined): string {
    const now = this.#options.clock.now();
    const sinceChange = changedAt !== undefined && Math.abs(now - changedAt) < NEAR_END_MS;
    const seconds = sinceChange ? Math.round((expiresAt - changedAt) / 1000) : Math.ceil((expiresAt - now) / 1000);
    return formatDuration(Math.max(1, seconds));
  }

  /** What a category became; `undefined` when that is nothing new, or the category is not registered. */
  #became(
    key: ScopeKey,
    category: string,
    before: Setting | undefined,
    after: Snapshot,
    changedAt: number | undefined,
  ): string | undefined {
    if (!after.defaults.has(category)) return undefined;
    const setting = (after.tenant ?? after.global).get(category);
    const was = before?.temporary;
    const is = setting?.temporary;
    if (is !== undefined && !after.ended(is)) {
      if (was !== undefined && sameOverlay(was, is)) return undefined;
      return `${is.enabled ? 'on' : 'off'} for ${this.#remaining(is, changedAt)}${this.#forWhom(key)}`;
    }
    const permanent = setting?.permanent;
    const state = permanent === undefined ? 'back to default' : permanent ? 'on' : 'off';
    const lasting = `${state}${this.#forWhom(key)}`;
    if (was === undefined || is !== undefined) return before?.permanent === permanent ? undefined : lasting;
    const isOver = after.ended(was) || was.expiresAt - this.#options.clock.now() <= NEAR_END_MS;
    if (before?.permanent !== permanent || !isOver) return lasting;
    return this.#isNewEnd(key, category, was) ? this.#over(key, category, after, was) : undefined;
  }
}
