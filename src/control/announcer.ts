import {
  type Activation,
  NO_END,
  type Overlay,
  type ScopeKey,
  type Setting,
  type Settings,
} from '../store/state-store.ts';
import type { AuditDraft } from '../trail/types.ts';
import { ALERT_USER } from '../wire/constants.ts';
import { nameSome } from '../wire/printable.ts';
import { formatDuration } from '../wire/time.ts';
import { activationText, isRecording } from '../wire/words/activation.ts';
import { ENDED } from '../wire/words/change.ts';
import { settingText } from '../wire/words/level.ts';
import type { PlaneParts } from './plane.ts';
import { type Snapshot, sameOverlay, stateOf } from './transition.ts';

type AnnouncerOptions = Pick<PlaneParts, 'states' | 'isolation' | 'clock' | 'delay' | 'reporter' | 'cluster'>;

export interface ChangeOrigin {
  /** The audit entry of a change made by this process; absent for a change of another process. */
  readonly draft?: AuditDraft | undefined;
  readonly revision?: number;
  /** When the change was made, in milliseconds since the epoch. */
  readonly changedAt?: number | undefined;
  /** The change was in force before this process started. */
  readonly restored?: boolean | undefined;
  readonly local?: boolean;
}

interface Notice {
  readonly key: ScopeKey;
  readonly parts: readonly string[];
  readonly origin: ChangeOrigin;
}

/** Lines per second. Further changes are counted in one line. */
const MAX_LINES = 10;
const SECOND_MS = 1000;
/** When another process removes a temporary control this close to its end here, the control has expired. */
const NEAR_END_MS = 5000;
const LONGEST_NAME = 128;
/** Delay before this process claims another process's change. The process that made the change knows who and why. */
const CLAIM_DELAY_MS = 250;

/** Announces what is switched in this process and what ends: one line per change, whatever the number of categories. */
export class Announcer {
  /** Set while this process writes. Incoming change messages are held, since they may describe its own change. */
  holding = false;
  readonly #options: AnnouncerOptions;
  /** Announced ends whose temporary control is still in the settings. */
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
   * Announces a change to a scope.
   * @param before the settings before the change
   * @param touched the categories whose setting may differ
   */
  change(key: ScopeKey, before: Settings, after: Snapshot, touched: Iterable<string>, origin: ChangeOrigin): void {
    if (this.#options.reporter === undefined) return;
    const settings = after.tenant ?? after.global;
    const groups = new Map<string, string[]>();
    for (const category of touched) {
      const setting = settings.get(category);
      const overlay = setting?.temporary;
      const isFirst = origin.restored === true || before.get(category)?.temporary === undefined;
      // Never in force here, so its end is not announced either.
      if (overlay !== undefined && isFirst && after.ended(overlay)) this.#noteEnd(key, category, overlay);
      if (origin.restored === true) continue;
      const state = this.#describeChange(key, category, before.get(category), after, origin.changedAt);
      if (state !== undefined) groups.set(state, [...(groups.get(state) ?? []), category]);
      if (overlay === undefined) this.#forgetEnd(key, category);
    }
    this.#announceOrHold({ key, parts: withNames(groups), origin });
  }

  /** Announces activations that were made or ended by a change. Values of attributes are personal data, and left out. */
  activations(key: ScopeKey, before: readonly Activation[], after: readonly Activation[], origin: ChangeOrigin): void {
    if (this.#options.reporter === undefined || origin.restored === true) return;
    const parts: string[] = [];
    const had = new Set(before.map(({ id }) => id));
    const has = new Set(after.map(({ id }) => id));
    for (const each of after.filter(({ id }) => !had.has(id))) {
      const lasting = each.expiresAt === NO_END ? 'without an end' : `for ${this.#remaining(each, origin.changedAt)}`;
      const begun = activationText(each, { values: false, state: 'on' });
      parts.push(`${begun} ${lasting}${this.#forTenant(key)}`);
    }
    for (const each of before.filter(({ id }) => !has.has(id))) {
      this.#forgetEnd(key, each.id);
      if (this.#options.states.ended(each)) continue;
      parts.push(`${describeEndOf(each)}${this.#forTenant(key)}`);
    }
    this.#announceOrHold({ key, parts, origin });
  }

  activationsEnded(key: ScopeKey, ended: readonly Activation[]): void {
    if (this.#options.reporter === undefined) return;
    for (const each of ended) {
      if (!this.#isNewEnd(key, each.id, each)) continue;
      const why = ENDED[this.#options.states.spent(each) ? 'budget' : 'time'];
      this.#announce({ key, parts: [`${describeEndOf(each)}${this.#forTenant(key)}, ${why}`], origin: {} });
    }
  }

  #announceOrHold(notice: Notice): void {
    if (this.holding && notice.origin.draft === undefined && notice.parts.length > 0) this.#held.push(notice);
    else this.#announce(notice);
  }

  ended(key: ScopeKey, now: Snapshot, categories: Iterable<string>): void {
    if (this.#options.reporter === undefined) return;
    const groups = new Map<string, string[]>();
    for (const category of categories) {
      const overlay = (now.tenant ?? now.global).get(category)?.temporary;
      if (overlay === undefined || !now.defaults.has(category) || !this.#isNewEnd(key, category, overlay)) continue;
      const state = this.#describeEnd(key, category, now, overlay);
      groups.set(state, [...(groups.get(state) ?? []), category]);
    }
    this.#announce({ key, parts: withNames(groups), origin: {} });
  }

  /** Called when the message of our own change arrived before the store's answer. */
  own(key: ScopeKey, revision: number, draft: AuditDraft): void {
    const notice = this.#held.find((each) => each.key === key && each.origin.revision === revision);
    if (notice === undefined) return;
    this.#held = this.#held.filter((each) => each !== notice);
    this.#announce({ ...notice, origin: { ...notice.origin, draft } });
  }

  /** Ends {@link Announcer.holding} and announces the changes that were held. */
  release(): void {
    this.holding = false;
    const others = this.#held;
    this.#held = [];
    for (const notice of others) this.#announce(notice);
  }

  close(): void {
    this.#writeRest();
  }

  /** One process of a cluster announces a change: the one that made it, otherwise the first to claim it. */
  #announce(notice: Notice): void {
    const { key, parts, origin } = notice;
    if (parts.length === 0) return;
    const { cluster } = this.#options;
    if (cluster?.isMember !== true || origin.revision === undefined) {
      this.#write(notice);
      return;
    }
    const event = JSON.stringify(['change', key, origin.revision, origin.changedAt]);
    if (origin.draft === undefined)
      this.#options.delay(CLAIM_DELAY_MS, () => cluster.claim(event) && this.#write(notice));
    else {
      cluster.claim(event);
      this.#write(notice);
    }
  }

  #write({ parts, origin: { draft, local } }: Notice): void {
    const who = draft?.identity.userId ?? draft?.identity.clientId;
    this.#writeLine(
      [
        parts.join('; '),
        who === undefined ? '' : describeWho(who.slice(0, LONGEST_NAME)),
        local === true ? ', in this process alone until the store is available' : '',
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
      this.#options.reporter?.info(line);
      return;
    }
    this.#more += 1;
    if (this.#more > 1) return;
    this.#cancelMore = this.#options.delay(this.#windowBegan + SECOND_MS - now, () => this.#writeRest());
  }

  #writeRest(): void {
    const { reporter, clock } = this.#options;
    this.#cancelMore();
    if (this.#more > 0)
      reporter?.info(`${this.#more} more ${this.#more === 1 ? 'change' : 'changes'}, see the audit trail`);
    this.#more = 0;
    this.#lines = 1;
    this.#windowBegan = clock.monotonic();
  }

  /**
   * Records the end of a control: of a category's overlay by its name, of an activation by its id. Returns false when it was
   * already recorded.
   */
  #noteEnd(key: ScopeKey, control: string, { expiresAt }: Overlay | Activation): boolean {
    const known = this.#knownEnds.get(key) ?? new Map<string, number>();
    if (known.get(control) === expiresAt) return false;
    this.#knownEnds.set(key, known.set(control, expiresAt));
    return true;
  }

  /** Whether this process announces the end. Each end is announced once, by one process of a cluster. */
  #isNewEnd(key: ScopeKey, name: string, control: Overlay | Activation): boolean {
    if (!this.#noteEnd(key, name, control)) return false;
    return this.#options.cluster?.claim(JSON.stringify(['end', key, name, control.expiresAt])) ?? true;
  }

  #forgetEnd(key: ScopeKey, name: string): void {
    const known = this.#knownEnds.get(key);
    if (known?.delete(name) && known.size === 0) this.#knownEnds.delete(key);
  }

  #forTenant(key: ScopeKey): string {
    const tenantId = this.#options.isolation.tenantOf(key);
    return tenantId === undefined ? '' : ` for tenant ${tenantId.slice(0, LONGEST_NAME)}`;
  }

  #describeEnd(key: ScopeKey, category: string, now: Snapshot, overlay: Overlay): string {
    const why = ENDED[this.#options.states.spent(overlay) ? 'budget' : 'time'];
    return `${settingText(stateOf(category, now))} again${this.#forTenant(key)}, ${why}`;
  }

  #remaining({ expiresAt }: Overlay | Activation, changedAt: number | undefined): string {
    const now = this.#options.clock.now();
    const sinceChange = changedAt !== undefined && Math.abs(now - changedAt) < NEAR_END_MS;
    const seconds = sinceChange ? Math.round((expiresAt - changedAt) / 1000) : Math.ceil((expiresAt - now) / 1000);
    return formatDuration(Math.max(1, seconds));
  }

  /** Describes the category's new state; `undefined` when the state is unchanged or the category is not registered. */
  #describeChange(
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
      return `${settingText(is)} for ${this.#remaining(is, changedAt)}${this.#forTenant(key)}`;
    }
    const permanent = setting?.permanent;
    const state =
      permanent === undefined ? 'back to default' : settingText({ enabled: permanent, level: setting?.level });
    const lasting = `${state}${this.#forTenant(key)}`;
    const isSame = before?.permanent === permanent && before?.level === setting?.level;
    if (was === undefined || is !== undefined) return isSame ? undefined : lasting;
    const isOver = after.ended(was) || was.expiresAt - this.#options.clock.now() <= NEAR_END_MS;
    if (!isSame || !isOver) return lasting;
    return this.#isNewEnd(key, category, was) ? this.#describeEnd(key, category, after, was) : undefined;
  }
}

function withNames(groups: ReadonlyMap<string, readonly string[]>): readonly string[] {
  return [...groups].map(([state, names]) => `${nameSome(names)} ${state}`);
}

function describeEndOf(activation: Activation): string {
  const text = activationText(activation, { values: false, state: 'off again' });
  return isRecording(activation) ? `${text} ended` : text;
}

/** Who made a change: ` by root`, ` (alert orders)`. */
function describeWho(who: string): string {
  return who.startsWith(ALERT_USER) ? ` (alert ${who.slice(ALERT_USER.length)})` : ` by ${who}`;
}
