import type { TenantCalls } from './types.ts';

/** Maximum number of tenants counted. Beyond it, the counts of the least recently active tenant are evicted. */
const MAX_TENANTS = 100_000;
/** Up to this many categories are found by linear search. A tenant with more gets an index. */
const MAX_LINEAR_SEARCH = 16;

/** A tenant's counts at a mark, and at every mark since the previous snapshot. */
interface Snapshot {
  readonly mark: number;
  readonly counts: readonly number[];
}

class Tally {
  /** Ordered by first call. */
  readonly categories: number[] = [];
  counts: number[] = [];
  /** Oldest first. */
  snapshots: Snapshot[] = [];
  #positions: Map<number, number> | undefined;

  add(category: number, calls: number): void {
    const position = this.#positionOf(category);
    if (position !== undefined) {
      this.counts[position]! += calls;
      return;
    }
    this.categories.push(category);
    this.counts.push(calls);
    if (this.#positions !== undefined) this.#positions.set(category, this.categories.length - 1);
    else if (this.categories.length > MAX_LINEAR_SEARCH)
      this.#positions = new Map(this.categories.map((each, at) => [each, at]));
  }

  total(category: number, counts: readonly number[] = this.counts): number {
    const position = this.#positionOf(category);
    return position === undefined ? 0 : (counts[position] ?? 0);
  }

  #positionOf(category: number): number | undefined {
    if (this.#positions !== undefined) return this.#positions.get(category);
    const found = this.categories.indexOf(category);
    return found === -1 ? undefined : found;
  }
}

/**
 * Counts calls by tenant and category. A mark is a snapshot-on-write snapshot: a tenant's counts are copied by its first call
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
    tally.add(category, calls);
  }

  total(tenantId: string, category: number): number {
    return this.#tallies.get(tenantId)?.total(category) ?? 0;
  }

  totalAt(tenantId: string, category: number, mark: number): number {
    const tally = this.#tallies.get(tenantId);
    return tally?.total(category, tally.snapshots.find((snapshot) => snapshot.mark >= mark)?.counts) ?? 0;
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
    for (const [tenantId, tally] of this.#tallies) {
      for (const [position, category] of tally.categories.entries()) {
        yield [tenantId, category, tally.counts[position] ?? 0];
      }
    }
  }

  #takeSnapshot(tenantId: string, existing: Tally | undefined): Tally {
    const tally = existing ?? new Tally();
    tally.snapshots.push({ mark: this.#mark, counts: tally.counts.slice() });
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
