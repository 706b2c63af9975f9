import type { TenantCalls } from './types.ts';

/** Maximum number of tenants counted. Beyond it, the counts of the least recently active tenant are evicted. */
const MAX_TENANTS = 100_000;

/** Calls by category. */
type Counts = Map<number, number>;

interface Tally {
  readonly counts: Counts;
  /** The counts at a mark, and at every mark since the previous snapshot. Oldest first. */
  snapshots: { readonly mark: number; readonly counts: Counts }[];
}

/**
 * Counts calls by tenant and category. A mark is a copy-on-write snapshot: a tenant's counts are copied by its first call
 * after the mark.
 */
export class TenantCallCounts implements TenantCalls {
  /** Ordered by the tenant's first call after its latest mark, oldest first. */
  readonly #tallies = new Map<string, Tally>();
  readonly #withSnapshots = new Set<Tally>();
  readonly #maxTenants: number;
  #mark = 0;

  constructor(maxTenants = MAX_TENANTS) {
    this.#maxTenants = maxTenants;
  }

  count(tenantId: string, category: number, calls = 1): void {
    let tally = this.#tallies.get(tenantId);
    if (tally === undefined || tally.snapshots.at(-1)?.mark !== this.#mark) tally = this.#takeSnapshot(tenantId, tally);
    tally.counts.set(category, (tally.counts.get(category) ?? 0) + calls);
  }

  total(tenantId: string, category: number): number {
    return this.#tallies.get(tenantId)?.counts.get(category) ?? 0;
  }

  totalAt(tenantId: string, category: number, mark: number): number {
    const tally = this.#tallies.get(tenantId);
    const counts = tally?.snapshots.find((snapshot) => snapshot.mark >= mark)?.counts ?? tally?.counts;
    return counts?.get(category) ?? 0;
  }

  mark(oldest: number): number {
    for (const tally of this.#withSnapshots) {
      tally.snapshots = tally.snapshots.filter(({ mark }) => mark >= oldest);
      if (tally.snapshots.length === 0) this.#withSnapshots.delete(tally);
    }
    this.#mark += 1;
    return this.#mark;
  }

  *entries(): Generator<readonly [tenantId: string, category: number, total: number]> {
    for (const [tenantId, { counts }] of this.#tallies) {
      for (const [category, total] of counts) yield [tenantId, category, total];
    }
  }

  #takeSnapshot(tenantId: string, existing: Tally | undefined): Tally {
    const tally: Tally = existing ?? { counts: new Map(), snapshots: [] };
    tally.snapshots.push({ mark: this.#mark, counts: new Map(tally.counts) });
    this.#withSnapshots.add(tally);
    this.#tallies.delete(tenantId);
    if (this.#tallies.size >= this.#maxTenants) this.#evictOldest();
    this.#tallies.set(tenantId, tally);
    return tally;
  }

  #evictOldest(): void {
    for (const [tenantId, tally] of this.#tallies) {
      this.#tallies.delete(tenantId);
      this.#withSnapshots.delete(tally);
      return;
    }
  }
}
