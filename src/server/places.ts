/** What takes a place: a connection, or a stream of HTTP/2. */
export interface Occupant {
  /** Whose place it is; `undefined` where it does not count against an address. */
  readonly address: string | undefined;
  /** Whether a request has arrived completely and its answer has not been written yet. Such a place is never taken away. */
  isWorking(): boolean;
  /** Ends it: its place is gone. */
  evict(): void;
}

export interface PlaceLimits {
  readonly total: number;
  readonly perAddress: number;
}

/**
 * A bounded number of places. Where none is left, the newcomer gets that of whoever has been idle longest: of its own address
 * where that has used up its share, else of the address with the most. So an address with few connections keeps them, however
 * many others come.
 */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #full: (address: string | undefined) => void;
  /** By address; in each the one that was used longest ago first. */
  readonly #taken = new Map<string | undefined, Set<Occupant>>();
  #size = 0;

  /** @param full called when a newcomer finds no free place, with its address where that has used up its share */
  constructor(limits: PlaceLimits, full: (address: string | undefined) => void) {
    this.#limits = limits;
    this.#full = full;
  }

  /** Whether the newcomer has got a place. */
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

  /** Counts as the one of its address that was used last. */
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

  /** Those that no address counts, which are proxies, come last. */
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
