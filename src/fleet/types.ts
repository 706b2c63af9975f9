import type { FleetSummary } from '../protocol/messages.ts';
import type { Instance, Position } from '../store/fleet-store.ts';

/** One process of the fleet. */
export interface Member extends Instance {
  /** Revision that the process has applied; absent if it has applied none of the store's current history. */
  readonly applied?: number;
  /** Whether the process has not applied the store's revision. */
  readonly pending: boolean;
  /** Milliseconds since its last announcement. */
  readonly silentFor: number;
}

export interface Members {
  /** The store's newest revision. */
  readonly revision: number;
  /** Sorted by host, then process id. */
  readonly members: readonly Member[];
}

/** The processes that share a store. */
export interface Fleet {
  /** Starts announcing this process. */
  start(): void;
  /**
   * Waits until every process has applied a change, up to the configured timeout. Resolves with `undefined` if the store is
   * unreachable.
   * @param position of the change. @default the newest change
   */
  acknowledged(position?: Position): Promise<FleetSummary | undefined>;
  /** Returns which processes have applied the newest change, without waiting; `undefined` if the store is unreachable. */
  summary(): Promise<FleetSummary | undefined>;
  /** The revision that this process has applied; `undefined` before the first. */
  readonly revision: number | undefined;
  /** @throws {RdcpError} `RDCP_UNAVAILABLE` if the store is unreachable */
  members(): Promise<Members>;
  /** Rejects if this process is behind the store's revision and does not catch up in time, or if the store is unreachable. */
  check(): Promise<void>;
  /** Removes this process from the list. */
  close(): Promise<void>;
}
