import type { DebugRecord } from '../../wire/debug-record.ts';
import type { Part } from '../emit/selection.ts';

/** The option `recorder`. */
export interface RecorderLimits {
  /** How long finished work is kept, in seconds. 0: it is forgotten at once. */
  readonly keepSeconds: number;
  /** Size of the memory for finished work, outside the heap. */
  readonly keepBytes: number;
  readonly callsPerWork: number;
  readonly bytesPerWork: number;
  /** Most bytes of work that has not ended. */
  readonly bytes: number;
  /** Most pieces of work that have not ended. */
  readonly works: number;
  /** How long calls of work that has not ended are kept, in seconds. */
  readonly seconds: number;
  /** Whether `.enabled` is true where calls are only recorded. */
  readonly guards: boolean;
}

/** Asks for what was recorded. Filters and matches as of a tail; `when` selects finished work by how it ended. */
export interface PastQuery extends Part {
  /** Names. */
  readonly categories: readonly string[];
  /** In milliseconds since the epoch. */
  readonly since: number;
  /** Most lines or pieces of work; the newest ones are given. */
  readonly limit: number;
}

/** A recorded line, redacted. */
export interface PastLine extends DebugRecord {
  /** Of the lines of this process, for those of one millisecond. */
  readonly order: number;
}

export interface PastLines {
  /** In the order in which they were made. */
  readonly lines: readonly PastLine[];
  /** Further ones that match, and are older. */
  readonly more: number;
}

/** A piece of work that failed or was slow. */
export interface PastWork {
  /** One value for the work, as on its lines (`rdcp.work.id`). */
  readonly id: string;
  /** When it ended, in milliseconds since the epoch. */
  readonly at: number;
  /** What it was and how it ended: `POST /orders 500 after 12 ms, CreditError`. */
  readonly outcome: string;
  readonly milliseconds: number;
  readonly traceId?: string;
  /** Of its lines: the only one, or the first where a list of tenants is asked for. */
  readonly tenant?: string;
  /** Of the work, and of its parts that match; redacted. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Recorded lines by category. */
  readonly lines: Readonly<Record<string, number>>;
}

export interface PastWorks {
  /** The newest first. */
  readonly works: readonly PastWork[];
  /** Whether older ones match. */
  readonly more: boolean;
}

/** How much of the past is kept. */
export interface Reach {
  /** Since when finished work is complete, in milliseconds since the epoch; `undefined` while nothing is kept. */
  readonly since: number | undefined;
  /** Pieces of finished work. */
  readonly works: number;
  readonly bytes: number;
}

/** What finished work, and work that goes on, has recorded. Reading takes several turns of the event loop. */
export interface Past {
  readonly reach: Reach;
  /** Lines up to now; those made while it reads are not among them. */
  lines(query: PastQuery): Promise<PastLines>;
  /** Work that failed, or was slower than `query.when.slowerThan`. */
  works(query: PastQuery): Promise<PastWorks>;
}
