import { type FleetStore, type FleetView, GONE_MS, goneAfter, type Instance } from '../../store/fleet.ts';
import type { Position } from '../../store/state-store.ts';
import type { MemberCalls } from '../../wire/member-calls.ts';
import type { FleetSummary } from '../../wire/messages.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { timestamp } from '../../wire/time.ts';

/**
 * How long a process that is not heard of counts, in milliseconds: it may be cut off from the store and go on. One whose last
 * announced control ends later counts until then, because that is when it stops by itself.
 */
const COUNTS_FOR_MS = 5 * 60_000;
/** How long a process that found no others reads no further, in milliseconds. */
const ALONE_MS = 5;

/** Whether `applied` includes `target`. False if they belong to different histories. */
export function reached(applied: Position | undefined, target: Position): boolean {
  return applied?.history === target.history && applied.revision >= target.revision;
}

/** Whether the others of the fleet have applied a change, but for those that are not heard of. */
export function isSettled({ pending, lastSeen = {} }: FleetSummary): boolean {
  return pending.length === Object.keys(lastSeen).length;
}

/** What an instance had applied when it was heard of last. */
interface Presence {
  readonly instance: Pick<Instance, 'id'>;
  readonly applied: Position | undefined;
  /** On the monotonic clock. */
  readonly heardAt: number;
  /** Milliseconds of silence after which it is not heard of. */
  readonly goneAfter: number;
}

export interface Entry extends Presence {
  readonly instance: Instance;
  /** As it announced them. */
  readonly calls?: MemberCalls | undefined;
  /** Wall time at which the last of its temporary controls ends. */
  readonly controlsEnd?: number | undefined;
  /** Known from before the store lost its list, and not announced since. */
  readonly carriedOver: boolean;
}

export interface RosterOptions {
  readonly store: Pick<FleetStore, 'look' | 'heartbeats' | 'beatMs' | 'withdraw' | 'hasEnded'>;
  readonly self: () => Instance;
  readonly applied: () => Position | undefined;
  readonly failed: () => void;
  readonly clock: Clock;
}

/** Which processes are there, and what they have applied, by the last reading of the store. */
export class Roster {
  readonly #options: RosterOptions;
  #others: ReadonlyMap<string, Entry> = new Map();
  /** When the newest process of a host and process id started: a container that is restarted has the same ones. */
  #startedAt: ReadonlyMap<string, number> = new Map();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #history: string | undefined;
  #size = 0;
  #aloneAt = Number.NEGATIVE_INFINITY;
  /** How many others there were before the store lost its list, and until when they may announce themselves again. */
  #missing = { size: 0, until: Number.NEGATIVE_INFINITY };

  constructor(options: RosterOptions) {
    this.#options = options;
  }

  get isAlone(): boolean {
    return this.#size === 0;
  }

  /** The instances that are heard of, including this process. */
  heard(): readonly Entry[] {
    const others = [...this.#others.values()].filter((entry) => this.#isHeard(entry));
    return [...others, { ...this.#self(), carriedOver: false }];
  }

  /** The instances that are not heard of, did not withdraw, and may still run. */
  silent(): readonly Entry[] {
    return [...this.#others.values()].filter((entry) => !this.#isHeard(entry) && this.#mayRun(entry));
  }

  async newest(): Promise<Position> {
    return (await this.#heartbeats()).current;
  }

  async look(): Promise<FleetView> {
    const { store } = this.#options;
    const view = await this.#read(store.look());
    this.#note(view);
    for (const [id, entry] of this.#others) {
      // If that fails, the next reading does it.
      if (!this.#isHeard(entry) && !this.#mayRun(entry)) store.withdraw(id).catch(() => undefined);
    }
    return view;
  }

  /**
   * Reads who has applied a change. What a silent process is says whether it may still run, and is read once all others have
   * applied the change, or at the end: numbers and names of an answer are of one reading.
   * @param meant the ids of the instances that count. @default all
   * @returns `undefined` while that is not known
   */
  async progress(
    target: Position,
    { meant, isLast }: { meant: (() => readonly string[]) | undefined; isLast: boolean },
  ): Promise<FleetSummary | undefined> {
    if (this.#options.clock.monotonic() - this.#aloneAt <= ALONE_MS) return this.summary(target, meant?.());
    if (meant === undefined) {
      const { heard, silent } = await this.#heartbeats();
      if (silent.length === 0) return this.#isMissingSome ? undefined : this.#summaryOf(target, heard, []);
      if (!isLast && !heard.every(({ applied }) => reached(applied, target))) return undefined;
    }
    await this.look();
    return this.#isMissingSome ? undefined : this.summary(target, meant?.());
  }

  /**
   * Who has applied the changes up to a position, by the last reading.
   * @param ids of the instances that count. @default all
   */
  summary(target: Position, ids?: readonly string[]): FleetSummary {
    const counts = ({ instance }: Entry) => ids?.includes(instance.id) !== false;
    return this.#summaryOf(target, this.heard().filter(counts), this.silent().filter(counts));
  }

  #summaryOf(target: Position, heard: readonly Presence[], silent: readonly Presence[]): FleetSummary {
    const pending = [...heard.filter((entry) => !reached(entry.applied, target)), ...silent];
    const instances = heard.length + silent.length;
    return {
      revision: target.revision,
      instances,
      applied: instances - pending.length,
      pending: pending.map(({ instance }) => instance.id).sort(),
      ...(silent.length > 0 && {
        lastSeen: Object.fromEntries(silent.map((entry) => [entry.instance.id, timestamp(this.#seenAt(entry))])),
      }),
      ...goneLater(heard.reduce((latest, { goneAfter }) => Math.max(latest, goneAfter), 0)),
    };
  }

  /** Wall time, in full seconds: every reading computes the same. */
  #seenAt({ heardAt }: Presence): number {
    const { clock } = this.#options;
    return Math.round((clock.now() - clock.monotonic() + heardAt) / 1000) * 1000;
  }

  #isHeard({ heardAt, goneAfter }: Presence): boolean {
    return this.#options.clock.monotonic() - heardAt <= goneAfter;
  }

  #mayRun({ instance, heardAt, goneAfter, controlsEnd = 0 }: Entry): boolean {
    const { clock, store } = this.#options;
    const mayBeCutOff = clock.monotonic() - heardAt <= goneAfter + COUNTS_FOR_MS || clock.now() <= controlsEnd;
    const isReplaced = (this.#startedAt.get(placeOf(instance)) ?? 0) > instance.startedAt;
    return mayBeCutOff && !isReplaced && !store.hasEnded(instance);
  }

  get #isMissingSome(): boolean {
    return this.#options.clock.monotonic() <= this.#missing.until && this.#size < this.#missing.size;
  }

  #self() {
    const { self, applied, clock } = this.#options;
    return { instance: self(), applied: applied(), heardAt: clock.monotonic(), goneAfter: GONE_MS };
  }

  /** Reads who is there and what they have applied, without what they are. */
  async #heartbeats() {
    const { store, clock } = this.#options;
    const { current, instances } = await this.#read(store.heartbeats());
    const now = clock.monotonic();
    const self = this.#self();
    const others = instances
      .filter(({ id }) => id !== self.instance.id)
      .map(
        ({ id, applied, silentFor, goneAfter = GONE_MS }): Presence => ({
          instance: { id },
          applied,
          heardAt: now - silentFor,
          goneAfter,
        }),
      );
    const heard = others.filter((each) => this.#isHeard(each));
    const silent = others.filter((each) => !this.#isHeard(each));
    this.#follow(current);
    this.#noteSize(heard.length, silent.length);
    if (others.length === 0 && !this.#isMissingSome) this.#others = new Map();
    return { current, heard: [...heard, self], silent };
  }

  #note({ current, instances }: FleetView): void {
    const { clock, self } = this.#options;
    const now = clock.monotonic();
    this.#follow(current);
    const others = new Map<string, Entry>();
    for (const { applied, silentFor, goneAfter = GONE_MS, calls, controlsEnd, ...instance } of instances) {
      const heardAt = now - silentFor;
      if (instance.id === self().id || (others.get(instance.id)?.heardAt ?? Number.NEGATIVE_INFINITY) > heardAt)
        continue;
      others.set(instance.id, { instance, applied, heardAt, goneAfter, calls, controlsEnd, carriedOver: false });
    }
    for (const [id, entry] of this.#others) {
      if (entry.carriedOver && !others.has(id) && this.#mayRun(entry)) others.set(id, entry);
    }
    const startedAt = new Map<string, number>();
    for (const instance of [self(), ...instances]) {
      const place = placeOf(instance);
      startedAt.set(place, Math.max(instance.startedAt, startedAt.get(place) ?? 0));
    }
    this.#others = others;
    this.#startedAt = startedAt;
    this.#lookedAt = now;
    this.#noteSize(this.heard().length - 1, this.silent().length);
  }

  #noteSize(heard: number, silent: number): void {
    this.#size = heard;
    const isAlone = heard + silent === 0 && !this.#isMissingSome;
    this.#aloneAt = isAlone ? this.#options.clock.monotonic() : Number.NEGATIVE_INFINITY;
  }

  /** Carries the list over into a new history, in which the store begins without one. */
  #follow({ history }: Position): void {
    const { clock, store } = this.#options;
    const now = clock.monotonic();
    if (this.#history !== undefined && this.#history !== history) {
      const since = now - this.#lookedAt;
      const carried = [...this.#others.values()].map((entry) => ({
        ...entry,
        heardAt: entry.heardAt + since,
        carriedOver: true,
      }));
      this.#others = new Map(carried.map((entry) => [entry.instance.id, entry]));
      this.#missing = { size: this.#size, until: now + goneAfter(store.beatMs()) };
    }
    this.#history = history;
  }

  async #read<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      this.#options.failed();
      throw error;
    }
  }
}

function placeOf({ host, pid }: Instance): string {
  return `${host} ${pid}`;
}

/** The part of an answer that says when a process is not heard of, if that is later than usual. */
function goneLater(goneAfter: number): Pick<FleetSummary, 'goneAfterSeconds'> {
  return goneAfter > GONE_MS ? { goneAfterSeconds: Math.ceil(goneAfter / 1000) } : {};
}
