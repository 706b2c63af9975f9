import type { MemberCalls } from '../protocol/member-calls.ts';
import type { FleetSummary } from '../protocol/messages.ts';
import { type FleetView, GONE_MS, type Instance, type Position } from '../store/fleet-store.ts';
import type { Clock } from '../time/clock.ts';

/** Whether `applied` includes `target`. False if they belong to different histories. */
export function reached(applied: Position | undefined, target: Position): boolean {
  return applied?.history === target.history && applied.revision >= target.revision;
}

/** The part of an answer that says when a process is gone, if that is later than usual. */
export function goneLater(goneAfter: number): Pick<FleetSummary, 'goneAfterSeconds'> {
  return goneAfter > GONE_MS ? { goneAfterSeconds: Math.ceil(goneAfter / 1000) } : {};
}

/** The last known state of an instance. */
export interface Entry {
  readonly instance: Instance;
  readonly applied: Position | undefined;
  /** On the monotonic clock. */
  readonly heardAt: number;
  /** Milliseconds of silence after which it is gone. */
  readonly goneAfter: number;
  /** As it announced them. */
  readonly calls?: MemberCalls | undefined;
  /** Known from before the store lost its list, and not announced since. */
  readonly carriedOver: boolean;
}

/** The instances and their applied positions, as of the last read of the store. */
export interface Roster {
  saw(view: FleetView): void;
  /** Returns the running instances, including this process. */
  entries(): readonly Entry[];
  /** Returns the instances that stopped announcing themselves, and did not withdraw, up to five minutes ago. */
  lost(): readonly Entry[];
  /**
   * Returns how many instances have applied the changes up to a position.
   * @param ids of the instances that count. @default all
   */
  summary(target: Position, ids?: readonly string[]): FleetSummary;
}

export interface RosterOptions {
  readonly self: () => Instance;
  /** Returns the position that this process has applied. */
  readonly applied: () => Position | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export function createRoster({ self, applied, clock }: RosterOptions): Roster {
  let others = new Map<string, Entry>();
  /** Those that were silent for too long at the last look. */
  let lost: readonly Entry[] = [];
  let history: string | undefined;

  /** Returns the instances to keep after the store lost its list, until they announce themselves or expire. */
  function carriedOver({ current }: FleetView, seen: ReadonlyMap<string, Entry>): Entry[] {
    const now = clock.monotonic();
    const isNewHistory = history !== undefined && history !== current.history;
    return [...others.values()]
      .filter(({ instance, carriedOver, heardAt, goneAfter }) => {
        return !seen.has(instance.id) && (isNewHistory || (carriedOver && now - heardAt <= goneAfter));
      })
      .map((entry) => (entry.carriedOver ? entry : { ...entry, heardAt: now, carriedOver: true }));
  }

  function entries(): Entry[] {
    const now = clock.monotonic();
    const present = [...others.values()].filter(({ heardAt, goneAfter }) => now - heardAt <= goneAfter);
    return [...present, { instance: self(), applied: applied(), heardAt: now, goneAfter: GONE_MS, carriedOver: false }];
  }

  return {
    saw(view) {
      const now = clock.monotonic();
      const seen = new Map<string, Entry>();
      const silent: Entry[] = [];
      for (const { applied: announced, silentFor, goneAfter = GONE_MS, calls, ...instance } of view.instances) {
        if (instance.id === self().id) continue;
        const entry = { instance, applied: announced, heardAt: now - silentFor, goneAfter, calls, carriedOver: false };
        if (silentFor > goneAfter) silent.push(entry);
        else seen.set(instance.id, entry);
      }
      for (const entry of carriedOver(view, seen)) seen.set(entry.instance.id, entry);
      others = seen;
      lost = silent;
      history = view.current.history;
    },

    entries,

    lost: () => lost,

    summary(target, ids) {
      const present = entries().filter(({ instance }) => ids?.includes(instance.id) !== false);
      const pending = present.filter((entry) => !reached(entry.applied, target)).map(({ instance }) => instance.id);
      return {
        revision: target.revision,
        instances: present.length,
        applied: present.length - pending.length,
        pending: pending.sort(),
        ...goneLater(present.reduce((latest, { goneAfter }) => Math.max(latest, goneAfter), 0)),
      };
    },
  };
}
