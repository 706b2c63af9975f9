/** Occupies a place: a connection or an HTTP/2 stream. */
export interface Occupant {
  /** The address it counts against; `undefined` for none. */
  readonly address: string | undefined;
  /** Whether a complete request waits for its answer. Such an occupant is never evicted. */
  isWorking(): boolean;
  /** Closes it and frees its place. */
  evict(): void;
}

export interface PlaceLimits {
  readonly total: number;
  readonly perAddress: number;
}

/**
 * A bounded number of places. When full, a newcomer evicts the longest idle occupant: of its own address if that is
 * over its share, otherwise of the address with the most places. So an address with few connections keeps them, however
 * many others come.
 */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #full: (address: string | undefined) => void;
  /** By address; each set is ordered by last use, oldest first. */
  readonly #taken = new Map<string | undefined, Set<Occupant>>();
  #size = 0;

  /** @param full called when there is no free place, with the newcomer's address if that is over its share */
  constructor(limits: PlaceLimits, full: (address: string | undefined) => void) {
    this.#limits = limits;
    this.#full = full;
  }

  /** Returns whether the newcomer got a place. */
  take(newcomer: Occupant): boolean {
    const { address } = newcomer;
    const own = this.#taken.get(address);
    if (address !== undefined && own !== undefined && own.size >= this.#limits.perAddress) {
      this.#full(address);
      if (!this.#evictFrom(own)) return false;
    } else if (this.#size >= this.#limits.total) {
      this.#full(undefined);
      if (!this.#evictFromLargest()) return false;
    }
    let occupants = this.#taken.get(address);
    if (occupants === undefined) {
      occupants = new Set();
      this.#taken.set(address, occupants);
    }
    occupants.add(newcomer);
    this.#size += 1;
    return true;
  }

  /** Marks the occupant as used last. */
  used(occupant: Occupant): void {
    const occupants = this.#taken.get(occupant.address);
    if (occupants?.delete(occupant) === true) occupants.add(occupant);
  }

  leave(occupant: Occupant): void {
    const occupants = this.#taken.get(occupant.address);
    if (occupants?.delete(occupant) !== true) return;
    this.#size -= 1;
    if (occupants.size === 0) this.#taken.delete(occupant.address);
  }

  /** Occupants without an address, which are proxies, come last. */
  #evictFromLargest(): boolean {
    const bySize = [...this.#taken].sort(([address, { size }], [other, { size: otherSize }]) =>
      address === undefined ? 1 : other === undefined ? -1 : otherSize - size,
    );
    return bySize.some(([, occupants]) => this.#evictFrom(occupants));
  }

  #evictFrom(occupants: ReadonlySet<Occupant>): boolean {
    for (const occupant of occupants) {
      if (occupant.isWorking()) continue;
      this.leave(occupant);
      occupant.evict();
      return true;
    }
    return false;
  }
}
