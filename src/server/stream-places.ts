import { RdcpError } from '../errors.ts';

export interface StreamLimits {
  /** What is limited, in the plural, for the error. */
  readonly name: string;
  /** Most of this process. */
  readonly total: number;
  /** Most of one identity. */
  readonly perIdentity: number;
}

/** Limits the streams of one kind. */
export class StreamPlaces {
  readonly #limits: StreamLimits;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /**
   * @returns a function that gives the place back
   * @throws {RdcpError} `RDCP_RATE_LIMITED` when there are too many already
   */
  take(identity: string): () => void {
    const { total, perIdentity } = this.#limits;
    const own = this.#taken.get(identity) ?? 0;
    if (own >= perIdentity) throw this.#tooMany(perIdentity, 'of this client');
    if (this.#total >= total) throw this.#tooMany(total, 'of this process');
    this.#taken.set(identity, own + 1);
    this.#total += 1;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#total -= 1;
      const others = this.#taken.get(identity)! - 1;
      if (others > 0) this.#taken.set(identity, others);
      else this.#taken.delete(identity);
    };
  }

  #tooMany(limit: number, whose: string): RdcpError {
    return new RdcpError('RDCP_RATE_LIMITED', `${limit} ${this.#limits.name} ${whose} are open already`, {
      details: { limit },
      headers: { 'Retry-After': '5' },
    });
  }
}
