import type { AuditTrail } from '../audit/types.ts';
import type { Clock, Schedule } from '../clock.ts';
import type { CategoryView, ControlPlane, Scope } from '../control/types.ts';
import type { Fleet, Members } from '../fleet/types.ts';
import type { AuditEntry } from '../protocol/audit-messages.ts';

/** Interval in which changed categories are noticed, in milliseconds. */
const LOOK_MS = 100;
/** Rates, fleet and audit trail are read in every nth interval: once a second. */
const SLOW_EVERY = 10;
/** How far back the trail is read, in milliseconds: the clocks of other processes may be behind. */
const OVERLAP_MS = 60_000;
/** Most entries read at once. */
const MAX_ENTRIES = 100;
/** Most states remembered by their revision. */
const MAX_REMEMBERED = 16;

/** A reader of state. */
export interface Watcher {
  readonly scope: Scope;
  /** Entries of this tenant alone. @default all entries */
  readonly tenantId: string | undefined;
  /** Whether it gets audit entries. */
  readonly audits: boolean;
  /** @param changed categories that differ from the last call, or are new */
  categories(changed: readonly CategoryView[], revision: number): void;
  fleet(members: Members): void;
  rates(): void;
  audit(entry: AuditEntry): void;
}

export interface WatchersOptions {
  readonly plane: Pick<ControlPlane, 'view'>;
  readonly trail: Pick<AuditTrail, 'query'>;
  readonly fleet?: Fleet | undefined;
  readonly clock: Clock;
  readonly schedule: Schedule;
}

interface Watching {
  views: readonly CategoryView[];
}

/** Notices what changes, for all watchers together. Without a watcher it does nothing. */
export class Watchers {
  readonly #options: WatchersOptions;
  readonly #watchers = new Map<Watcher, Watching>();
  /** What a scope looked like at a revision that watchers were told. */
  readonly #told = new Map<string, readonly CategoryView[]>();
  /** Without a shared store: begins where no earlier process can have been. */
  #ownRevision: number;
  #members: Members | undefined;
  /** Ids of entries that were there before, or were passed on, with their time. */
  #entries: Map<string, number> | undefined;
  #stop: (() => void) | undefined;
  #ticks = 0;
  #reading = false;

  constructor(options: WatchersOptions) {
    this.#options = options;
    this.#ownRevision = options.clock.now();
  }

  get revision(): number {
    return this.#options.fleet?.revision ?? this.#ownRevision;
  }

  /**
   * Reads what a new watcher begins with, unless others watch already: to it, every audit entry from now on is new.
   * @returns the processes as of the last second
   */
  async prepare(audits: boolean): Promise<Members | undefined> {
    const { fleet } = this.#options;
    if (this.#members === undefined) this.#members = await fleet?.members().catch(() => undefined);
    if (audits && this.#entries === undefined) await this.#readTrail();
    return this.#members;
  }

  /** Whether a reader that was told everything up to a revision has missed nothing since. */
  missedNothing(scope: Scope, revision: string | undefined): boolean {
    const told = revision === undefined ? undefined : this.#told.get(toldKey(scope, revision));
    return told !== undefined && told === this.#options.plane.view(scope);
  }

  /** @returns a function that removes it */
  add(watcher: Watcher): () => void {
    const views = this.#options.plane.view(watcher.scope);
    this.#watchers.set(watcher, { views });
    this.#remember(watcher.scope, views);
    this.#stop ??= this.#options.schedule(LOOK_MS, () => this.#tick());
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
      this.#members = undefined;
      this.#entries = undefined;
    };
  }

  #tick(): void {
    this.#look();
    this.#ticks += 1;
    if (this.#ticks % SLOW_EVERY !== 0) return;
    for (const watcher of this.#watchers.keys()) watcher.rates();
    if (this.#reading) return;
    this.#reading = true;
    const someAudit = [...this.#watchers.keys()].some(({ audits }) => audits);
    // Otherwise the next that gets entries would get those of a time without one.
    if (!someAudit) this.#entries = undefined;
    void Promise.all([this.#readFleet(), someAudit && this.#readTrail()]).finally(() => {
      this.#reading = false;
    });
  }

  #look(): void {
    let moved = false;
    for (const [watcher, watching] of this.#watchers) {
      const views = this.#options.plane.view(watcher.scope);
      if (views === watching.views) continue;
      const changed = differences(watching.views, views);
      watching.views = views;
      if (changed.length === 0) continue;
      // One revision for the changes of all watchers.
      if (!moved) this.#ownRevision += 1;
      moved = true;
      this.#remember(watcher.scope, views);
      watcher.categories(changed, this.revision);
    }
  }

  /** Changes that have no revision of their own, such as new categories, leave the first state of that revision. */
  #remember(scope: Scope, views: readonly CategoryView[]): void {
    const key = toldKey(scope, String(this.revision));
    if (this.#told.has(key)) return;
    this.#told.set(key, views);
    for (const [oldest] of this.#told) {
      if (this.#told.size <= MAX_REMEMBERED) break;
      this.#told.delete(oldest);
    }
  }

  async #readFleet(): Promise<void> {
    const members = await this.#options.fleet?.members().catch(() => undefined);
    if (members === undefined || this.#watchers.size === 0) return;
    this.#members = members;
    for (const watcher of this.#watchers.keys()) watcher.fleet(members);
  }

  async #readTrail(): Promise<void> {
    const { trail, clock } = this.#options;
    const since = clock.now() - OVERLAP_MS;
    const page = await trail.query({ since, limit: MAX_ENTRIES }).catch(() => undefined);
    if (page === undefined) return;
    const known = this.#entries;
    this.#entries = new Map([...(known ?? [])].filter(([, at]) => at >= since));
    for (const entry of page.entries.toReversed()) {
      if (known?.has(entry.id) === true) continue;
      this.#entries.set(entry.id, Date.parse(entry.timestamp));
      // What the first read finds was there before.
      if (known === undefined) continue;
      for (const watcher of this.#watchers.keys()) {
        const visible = watcher.tenantId === undefined || watcher.tenantId === entry.tenant?.id;
        if (watcher.audits && visible) watcher.audit(entry);
      }
    }
  }
}

function toldKey(scope: Scope, revision: string): string {
  return `${revision} ${scope.key}`;
}

const COMPARED = ['enabled', 'temporary', 'origin', 'expiresAt', 'description', 'defaultEnabled'] as const;

/** Categories that differ or are new. Categories are never removed. */
function differences(before: readonly CategoryView[], after: readonly CategoryView[]): CategoryView[] {
  const known = new Map(before.map((view) => [view.name, view]));
  return after.filter((view) => {
    const old = known.get(view.name);
    return old === undefined || old.by?.at !== view.by?.at || COMPARED.some((member) => old[member] !== view[member]);
  });
}
