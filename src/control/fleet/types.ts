import type { Instance } from '../../store/fleet.ts';
import type { Position } from '../../store/state-store.ts';
import type { FleetSummary } from '../../wire/messages.ts';
import type { AnnouncedCalls } from './calls.ts';

/** One process of the fleet. */
export interface Member extends Omit<Instance, 'categoryDigest'> {
  /** Revision that the process has applied; absent if it has applied none of the store's current history. */
  readonly applied?: number;
  /** Whether the process has not applied the store's revision. */
  readonly pending: boolean;
  /** Milliseconds since its last announcement. */
  readonly silentFor: number;
  /** The first of its categories that not all processes have; absent if it does not say which it has. */
  readonly categories?: readonly string[];
}

export interface Members {
  /** Who has applied the store's newest revision. */
  readonly summary: FleetSummary;
  /** Sorted by host, then process id. */
  readonly members: readonly Member[];
  /** Those that are not heard of, did not withdraw, and may still run; sorted likewise. */
  readonly lost: readonly Member[];
}

/** The processes that share a store. */
export interface Fleet {
  /** Starts announcing this process. */
  start(): void;
  /**
   * Waits until every process that is heard of has applied a change, up to the configured timeout. Resolves with `undefined` if
   * who has applied it is not known.
   * @param position of the change. @default the newest change
   * @param meant the ids of the processes that count. @default all
   */
  acknowledged(position?: Position, meant?: () => readonly string[]): Promise<FleetSummary | undefined>;
  /** Returns which processes have applied the newest change, without waiting; `undefined` if the store is unreachable. */
  summary(): Promise<FleetSummary | undefined>;
  /**
   * Reads which categories the other processes have, unless that was done within a second. Never rejects: while the store
   * is unreachable, the last ones stay known.
   * @param always even within that second
   */
  refresh(always?: boolean): Promise<void>;
  /** Whether a process has one of these categories; true if it does not say which it has. */
  has(id: string, categories: readonly string[]): boolean;
  /** The processes of which that is true. */
  candidates(categories: readonly string[]): readonly Instance[];
  /** What the other processes announced of their calls and lines, by the last read of the fleet. */
  readonly calls: Pick<AnnouncedCalls, 'of' | 'linesOf' | 'instances'>;
  /** The revision that this process has applied; `undefined` before the first. */
  readonly revision: number | undefined;
  /** @throws {RdcpError} `RDCP_UNAVAILABLE` if the store is unreachable */
  members(): Promise<Members>;
  /** Rejects if this process is behind the store's revision and does not catch up in time, or if the store is unreachable. */
  check(): Promise<void>;
  /** Removes this process from the list, at once where the store is a file. Requests are served until {@link Fleet.close}. */
  leave(): Promise<void>;
  close(): Promise<void>;
}
