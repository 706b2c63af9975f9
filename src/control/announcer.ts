import type { AuditDraft } from '../audit/types.ts';
import type { Clock, Delay } from '../clock.ts';
import { formatDuration } from '../protocol/time.ts';
import { GLOBAL_SCOPE, type Overlay, type ScopeKey, type Setting, type Settings } from '../store/state-store.ts';
import { type Ended, sameOverlay } from './state.ts';
import { nameSome } from './transition.ts';

export interface AnnouncerOptions {
  /** The settings of a scope as they are in force now. */
  readonly settings: (key: ScopeKey) => Settings;
  readonly ended: Ended;
  readonly isRegistered: (category: string) => boolean;
  /** The effective state of a category for a scope. */
  readonly isOn: (key: ScopeKey, category: string) => boolean;
  readonly tenantOf: (key: ScopeKey) => string | undefined;
  readonly clock: Clock;
  readonly delay: Delay;
  /** Takes one line. @default nothing is said */
  readonly announce?: ((line: string) => void) | undefined;
  /**
   * Where other processes write to the same stderr: returns true for the first of them that asks about an event.
   * @default this process says everything
   */
  readonly claim?: () => ((event: string) => boolean) | undefined;
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
  readonly here?: boolean;
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

/** Says what is switched in this process, and what ends: one line a change, however many categories it has. */
export function createAnnouncer(options: AnnouncerOptions) {
  const { settings, ended, isRegistered, isOn, tenantOf, clock, delay, announce, claim = () => undefined } = options;
  /** Ends that were said and whose temporary control is still in the settings. */
  const saidEnds = new Map<ScopeKey, Map<string, number>>();
  /** Changes that came by a message while this process was writing: they may be its own. */
  let held: Notice[] = [];
  let writing = 0;
  let windowBegan = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let more = 0;
  let cancelMore = () => {};

  function sayMore(): void {
    cancelMore();
    if (more > 0) announce?.(`${more} more ${more === 1 ? 'change' : 'changes'}, see the audit trail`);
    more = 0;
    lines = 1;
    windowBegan = clock.monotonic();
  }

  function sayLine(line: string): void {
    const now = clock.monotonic();
    if (more === 0 && now - windowBegan >= SECOND_MS) {
      windowBegan = now;
      lines = 0;
    }
    if (more === 0 && lines < MAX_LINES) {
      lines += 1;
      announce?.(line);
      return;
    }
    more += 1;
    if (more === 1) cancelMore = delay(windowBegan + SECOND_MS - now, sayMore);
  }

  /** In a cluster one process says a change: the one that made it, else the first to claim it. */
  function say(notice: Notice): void {
    const { key, groups, origin } = notice;
    if (groups.size === 0) return;
    const first = origin.revision === undefined ? undefined : claim();
    if (first === undefined) {
      write(notice);
      return;
    }
    const event = JSON.stringify(['change', key, origin.revision, origin.changedAt]);
    if (origin.draft === undefined) delay(CLAIM_DELAY_MS, () => first(event) && write(notice));
    else {
      first(event);
      write(notice);
    }
  }

  function write({ groups, origin: { draft, here } }: Notice): void {
    const what = [...groups].map(([state, names]) => `${nameSome(names)} ${state}`).join('; ');
    const who = draft?.identity.userId ?? draft?.identity.clientId;
    sayLine(
      [
        what,
        who === undefined ? '' : ` by ${who.slice(0, LONGEST_NAME)}`,
        here === true ? ', in this process alone until the store can be reached' : '',
        who === undefined || draft?.reason === undefined ? '' : `: ${draft.reason}`,
      ].join(''),
    );
  }

  /** Returns whether this process has not noted that end before. */
  function noteEnd(key: ScopeKey, category: string, { expiresAt }: Overlay): boolean {
    const said = saidEnds.get(key) ?? new Map<string, number>();
    if (said.get(category) === expiresAt) return false;
    saidEnds.set(key, said.set(category, expiresAt));
    return true;
  }

  /** Whether an end is to be said, which it is once, by one process of a cluster. */
  function isNewEnd(key: ScopeKey, category: string, overlay: Overlay): boolean {
    if (!noteEnd(key, category, overlay)) return false;
    return claim()?.(JSON.stringify(['end', key, category, overlay.expiresAt])) ?? true;
  }

  function forgetEnd(key: ScopeKey, category: string): void {
    const said = saidEnds.get(key);
    if (said?.delete(category) && said.size === 0) saidEnds.delete(key);
  }

  function forWhom(key: ScopeKey): string {
    const tenantId = key === GLOBAL_SCOPE ? undefined : tenantOf(key);
    return tenantId === undefined ? '' : ` for tenant ${tenantId.slice(0, LONGEST_NAME)}`;
  }

  const over = (key: ScopeKey, category: string) =>
    `${isOn(key, category) ? 'on' : 'off'} again${forWhom(key)}, the time is over`;

  function remaining({ expiresAt }: Overlay, changedAt: number | undefined): string {
    const now = clock.now();
    const sinceChange = changedAt !== undefined && Math.abs(now - changedAt) < NEAR_END_MS;
    const seconds = sinceChange ? Math.round((expiresAt - changedAt) / 1000) : Math.ceil((expiresAt - now) / 1000);
    return formatDuration(Math.max(1, seconds));
  }

  /** What a category became; `undefined` when that is nothing new. */
  function became(
    key: ScopeKey,
    category: string,
    before: Setting | undefined,
    after: Setting | undefined,
    changedAt: number | undefined,
  ): string | undefined {
    const was = before?.temporary;
    const is = after?.temporary;
    if (is !== undefined && !ended(is)) {
      if (was !== undefined && sameOverlay(was, is)) return undefined;
      return `${is.enabled ? 'on' : 'off'} for ${remaining(is, changedAt)}${forWhom(key)}`;
    }
    const permanent = after?.permanent;
    const state = permanent === undefined ? 'back to default' : permanent ? 'on' : 'off';
    const settled = `${state}${forWhom(key)}`;
    if (was === undefined || is !== undefined) return before?.permanent === permanent ? undefined : settled;
    const isOver = ended(was) || was.expiresAt - clock.now() <= NEAR_END_MS;
    if (before?.permanent !== permanent || !isOver) return settled;
    return isNewEnd(key, category, was) ? over(key, category) : undefined;
  }

  return {
    /**
     * Says what comes of a change.
     * @param work makes the change, and returns the categories that it touched
     */
    change(key: ScopeKey, origin: ChangeOrigin, work: () => Iterable<string>): void {
      if (announce === undefined) {
        work();
        return;
      }
      const before = settings(key);
      const touched = work();
      const after = settings(key);
      const groups = new Map<string, string[]>();
      for (const category of touched) {
        const setting = after.get(category);
        if (origin.restored === true) {
          if (setting?.temporary !== undefined && ended(setting.temporary)) noteEnd(key, category, setting.temporary);
          continue;
        }
        const state = isRegistered(category)
          ? became(key, category, before.get(category), setting, origin.changedAt)
          : undefined;
        if (state !== undefined) groups.set(state, [...(groups.get(state) ?? []), category]);
        if (setting?.temporary === undefined) forgetEnd(key, category);
      }
      const notice = { key, groups, origin };
      if (writing > 0 && origin.draft === undefined && groups.size > 0) held.push(notice);
      else say(notice);
    },

    /** Says what has just ended. */
    ended(key: ScopeKey, categories: Iterable<string>): void {
      if (announce === undefined) return;
      const groups = new Map<string, string[]>();
      for (const category of categories) {
        const overlay = settings(key).get(category)?.temporary;
        if (overlay === undefined || !isRegistered(category) || !isNewEnd(key, category, overlay)) continue;
        const state = over(key, category);
        groups.set(state, [...(groups.get(state) ?? []), category]);
      }
      say({ key, groups, origin: {} });
    },

    /** Until the returned function is called, changes that come by a message are held: see {@link own}. */
    hold(): () => void {
      writing += 1;
      return () => {
        writing -= 1;
        if (writing > 0) return;
        const others = held;
        held = [];
        for (const notice of others) say(notice);
      };
    },

    /** The message of a change came before the answer to it. */
    own(key: ScopeKey, revision: number, draft: AuditDraft): void {
      const notice = held.find((each) => each.key === key && each.origin.revision === revision);
      if (notice === undefined) return;
      held = held.filter((each) => each !== notice);
      say({ ...notice, origin: { ...notice.origin, draft } });
    },

    close(): void {
      sayMore();
    },
  };
}
