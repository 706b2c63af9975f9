import { isDeepStrictEqual } from 'node:util';
import type { Members } from '../../control/fleet/fleet.ts';
import type { CategoryView, Scope } from '../../control/types.ts';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import type { EndpointParts } from '../parts.ts';

/** Interval in which changed categories are noticed, in milliseconds. */
const LOOK_MS = 100;
/** Rates, fleet and audit trail are read in every nth interval: once a second. */
const SLOW_EVERY = 10;
/** How far back the trail is read, in milliseconds: the clocks of other processes may be behind. */
const OVERLAP_MS = 60_000;
const MAX_ENTRIES = 100;
const MAX_REMEMBERED = 16;

type WatchersParts = Pick<EndpointParts, 'plane' | 'trail' | 'fleet' | 'clock' | 'schedule' | 'delay'>;

export interface Watcher {
  readonly scope: Scope;
  /** Entries of this tenant alone. @default all entries */
  readonly tenantId: string | undefined;
  readonly audits: boolean;
  /** Whether it may see the settings of tenants. */
  readonly seesTenants: boolean;
  /** @param changed categories that differ from the last call, or are new */
  categories(changed: readonly CategoryView[], revision: number): void;
  replaced(): void;
  fleet(members: Members): void;
  rates(): void;
  audit(entry: AuditEntry): void;
}

/** Notices what changes, for all watchers together. Without a watcher it does nothing. */
export class Watchers {
  readonly #parts: WatchersParts;
  readonly #watchers = new Map<Watcher, readonly CategoryView[]>();
  readonly #sent = new Map<string, readonly CategoryView[]>();
  /** Without a shared store: begins where no earlier process can have been. */
  #ownRevision: number;
  #members: Members | undefined;
  /** Ids of entries that were there before, or were passed on, with their time. */
  #entries: Map<string, number> | undefined;
  /** Watchers to look after, and whether they get rates. */
  readonly #due = new Map<Watcher, boolean>();
  #serving = false;
  #stop: (() => void) | undefined;
  #ticks = 0;
  #reading = false;

  constructor(parts: WatchersParts) {
    this.#parts = parts;
    this.#ownRevision = parts.clock.now();
  }

  get revision(): number {
    return this.#parts.fleet?.revision ?? this.#ownRevision;
  }

  /**
   * Reads what a new watcher begins with, unless others watch already: to it, every audit entry from now on is new.
   * @returns the processes as of the last second
   */
  async prepare(audits: boolean): Promise<Members | undefined> {
    if (this.#members === undefined) this.#members = await this.#parts.fleet?.members().catch(() => undefined);
    if (audits && this.#entries === undefined) await this.#readTrail();
    return this.#members;
  }

  /** Whether a reader that received everything up to a revision has missed nothing since. */
  missedNothing(scope: Scope, revision: string | undefined): boolean {
    const sent = revision === undefined ? undefined : this.#sent.get(sentKey(scope, revision));
    return sent !== undefined && sent === this.#parts.plane.view(scope);
  }

  /** @returns a function that removes it */
  add(watcher: Watcher): () => void {
    const views = this.#parts.plane.view(watcher.scope);
    this.#watchers.set(watcher, views);
    this.#remember(watcher.scope, views);
    this.#stop ??= this.#parts.schedule(LOOK_MS, () => this.#tick());
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
      this.#members = undefined;
      this.#entries = undefined;
    };
  }

  async #tick(): Promise<void> {
    this.#ticks += 1;
    const isSlow = this.#ticks % SLOW_EVERY === 0;
    const changed = [...this.#watchers].filter(([{ scope }, before]) => this.#parts.plane.view(scope) !== before);
    // One revision for the changes of all watchers.
    if (changed.length > 0) this.#ownRevision += 1;
    for (const [watcher] of isSlow ? this.#watchers : changed) {
      this.#due.set(watcher, isSlow || this.#due.get(watcher) === true);
    }
    if (!this.#serving) this.#serve();
    if (!isSlow) return;
    if (this.#reading) return;
    this.#reading = true;
    const someAudit = [...this.#watchers.keys()].some(({ audits }) => audits);
    // Otherwise the next that gets entries would get those of a time without one.
    if (!someAudit) this.#entries = undefined;
    try {
      await Promise.all([this.#readFleet(), someAudit && this.#readTrail()]);
    } finally {
      this.#reading = false;
    }
  }

  /** Serves one watcher, and the others in turns of the event loop of their own: a large change takes milliseconds. */
  #serve(): void {
    const [next] = this.#due;
    this.#serving = next !== undefined;
    if (next === undefined) return;
    const [watcher, rates] = next;
    this.#due.delete(watcher);
    const before = this.#watchers.get(watcher);
    this.#parts.delay(0, () => this.#serve());
    if (before === undefined) return;
    this.#look(watcher, before);
    if (rates) watcher.rates();
  }

  #look(watcher: Watcher, before: readonly CategoryView[]): void {
    const views = this.#parts.plane.view(watcher.scope);
    if (views === before) return;
    const changed = differences(before, views, watcher);
    this.#watchers.set(watcher, views);
    const isGone = someGone(before, views);
    if (changed.length === 0 && !isGone) return;
    this.#remember(watcher.scope, views);
    if (isGone) watcher.replaced();
    else watcher.categories(changed, this.revision);
  }

  /** Changes that have no revision of their own, such as new categories, leave the first state of that revision. */
  #remember(scope: Scope, views: readonly CategoryView[]): void {
    const key = sentKey(scope, String(this.revision));
    if (this.#sent.has(key)) return;
    this.#sent.set(key, views);
    for (const [oldest] of this.#sent) {
      if (this.#sent.size <= MAX_REMEMBERED) break;
      this.#sent.delete(oldest);
    }
  }

  async #readFleet(): Promise<void> {
    const members = await this.#parts.fleet?.members().catch(() => undefined);
    if (members === undefined || this.#watchers.size === 0) return;
    this.#members = members;
    for (const watcher of this.#watchers.keys()) watcher.fleet(members);
  }

  async #readTrail(): Promise<void> {
    const since = this.#parts.clock.now() - OVERLAP_MS;
    const known = this.#entries;
    const page = await this.#parts.trail.query({ since, limit: MAX_ENTRIES }).catch(() => undefined);
    // Other entries are known when the last watcher has left meanwhile: the next one begins with a read of its own.
    if (page === undefined || this.#entries !== known) return;
    this.#entries = new Map([...(known ?? [])].filter(([, at]) => at >= since));
    for (const entry of page.entries.toReversed()) {
      if (known?.has(entry.id) === true) continue;
      this.#entries.set(entry.id, Date.parse(entry.timestamp));
      // Entries of the first read were there before.
      if (known === undefined) continue;
      for (const watcher of this.#watchers.keys()) {
        const visible = watcher.tenantId === undefined || watcher.tenantId === entry.tenant?.id;
        if (watcher.audits && visible) watcher.audit(entry);
      }
    }
  }
}

function sentKey(scope: Scope, revision: string): string {
  return `${revision} ${scope.key}`;
}

/** Categories are gone with the last process of the fleet that had them. */
function someGone(before: readonly CategoryView[], after: readonly CategoryView[]): boolean {
  const known = new Set(after.map(({ name }) => name));
  return before.some(({ name }) => !known.has(name));
}

/** The categories that differ for a watcher, or are new. */
function differences(
  before: readonly CategoryView[],
  after: readonly CategoryView[],
  watcher: Watcher,
): CategoryView[] {
  const seen = ({ tenants, ...view }: CategoryView) => (watcher.seesTenants ? { ...view, tenants } : view);
  const known = new Map(before.map((view) => [view.name, view]));
  return after.filter((view) => {
    const old = known.get(view.name);
    return old === undefined || !isDeepStrictEqual(seen(old), seen(view));
  });
}
