import type { RdcpError } from '../../wire/errors.ts';
import { REFUSALS } from '../../wire/refusals.ts';

interface StreamLimits {
  /** Name of the limited streams, in the plural, for the error. */
  readonly name: string;
  /** Most of this process. */
  readonly total: number;
  /** Most of one identity. */
  readonly perIdentity: number;
}

/** A stream that takes a place. */
export interface PlacedStream {
  readonly identity: string;
  /** With `replace`: distinguishes clients that share an identity. */
  readonly client?: string;
  /** Ends it for a newer stream of the same client. @default it keeps its place */
  readonly replace?: () => void;
}

/** Limits the streams of one kind. */
export class StreamPlaces {
  readonly #limits: StreamLimits;
  /** Oldest first. */
  readonly #taken = new Set<PlacedStream>();

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /**
   * Where there is no place, the oldest stream of the same client makes room: behind a proxy, one that its reader has left
   * may look open for a while.
   * @returns a function that gives the place back
   * @throws {RdcpError} `RDCP_RATE_LIMITED` when there are too many already
   */
  take(stream: PlacedStream): () => void {
    const { total, perIdentity } = this.#limits;
    const own = [...this.#taken].filter(({ identity }) => identity === stream.identity);
    const identityFull = own.length >= perIdentity;
    if (identityFull || this.#taken.size >= total) {
      const oldest = own.find(({ client, replace }) => replace !== undefined && client === stream.client);
      if (oldest === undefined) throw this.#tooMany(identityFull);
      this.#taken.delete(oldest);
      oldest.replace?.();
    }
    this.#taken.add(stream);
    return () => this.#taken.delete(stream);
  }

  #tooMany(ofIdentity: boolean): RdcpError {
    const { name, total, perIdentity } = this.#limits;
    const limit = ofIdentity ? perIdentity : total;
    const whose = ofIdentity ? 'of this credential' : 'of this process';
    return REFUSALS.manyStreams(limit, name, whose);
  }
}
