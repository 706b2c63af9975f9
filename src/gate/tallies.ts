import type { TenantCalls } from './types.ts';

/** Tenants counted at a time. Beyond that, the one that emitted longest ago begins anew. */
const MAX_TENANTS = 100_000;
/** As many categories are found by looking through a list; a tenant that calls more gets an index of them. */
const LISTED = 16;

/** What a tenant's counts were when a mark was made, and at any mark since the copy before. */
interface Copy {
  readonly mark: number;
  readonly counts: readonly number[];
}

class Tally {
  /** In the order of their first call. */
  readonly categories: number[] = [];
  counts: number[] = [];
  /** Oldest first. */
  copies: Copy[] = [];
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
    else if (this.categories.length > LISTED) this.#positions = new Map(this.categories.map((each, at) => [each, at]));
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
 * Counts of calls by tenant and category. A mark remembers all of them as they are, at no cost: a tenant's are copied by
 * its first call after the mark, and what nobody called since needs no copy.
 */
export class TenantCallCounts implements TenantCalls {
  /** Whoever began to count after the latest mark longest ago comes first. */
  readonly #tallies = new Map<string, Tally>();
  readonly #copied = new Set<Tally>();
  readonly #maxTenants: number;
  #mark = 0;

  constructor(maxTenants = MAX_TENANTS) {
    this.#maxTenants = maxTenants;
  }

  count(tenantId: string, category: number, calls = 1): void {
    let tally = this.#tallies.get(tenantId);
    if (tally === undefined || tally.copies.at(-1)?.mark !== this.#mark) tally = this.#keep(tenantId, tally);
    tally.add(category, calls);
  }

  total(tenantId: string, category: number): number {
    return this.#tallies.get(tenantId)?.total(category) ?? 0;
  }

  totalAt(tenantId: string, category: number, mark: number): number {
    const tally = this.#tallies.get(tenantId);
    return tally?.total(category, tally.copies.find((copy) => copy.mark >= mark)?.counts) ?? 0;
  }

  mark(oldest: number): number {
    for (const tally of this.#copied) {
      tally.copies = tally.copies.filter(({ mark }) => mark >= oldest);
      if (tally.copies.length === 0) this.#copied.delete(tally);
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

  #keep(tenantId: string, existing: Tally | undefined): Tally {
    const tally = existing ?? new Tally();
    tally.copies.push({ mark: this.#mark, counts: tally.counts.slice() });
    this.#copied.add(tally);
    this.#tallies.delete(tenantId);
    if (this.#tallies.size >= this.#maxTenants) this.#forgetOldest();
    this.#tallies.set(tenantId, tally);
    return tally;
  }

  #forgetOldest(): void {
    for (const [tenantId, tally] of this.#tallies) {
      this.#tallies.delete(tenantId);
      this.#copied.delete(tally);
      return;
    }
  }
}
