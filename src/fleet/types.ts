import type { FleetSummary } from '../protocol/messages.ts';
import type { Instance, Position } from '../store/fleet-store.ts';

/** One process of the fleet, beside the store's revision. */
export interface Member extends Instance {
  /** Every change up to this revision is applied there; absent when none is, or none of the store's present history. */
  readonly applied?: number;
  /** Whether the store's revision is not applied there yet. */
  readonly pending: boolean;
  /** Milliseconds since it was last heard of. */
  readonly silentFor: number;
}

export interface Members {
  /** The store's. */
  readonly revision: number;
  /** Sorted by host, then process id. */
  readonly members: readonly Member[];
}

/** The processes that share a store, as one of them sees them. */
export interface Fleet {
  /** Announces this process and goes on doing so. */
  start(): void;
  /**
   * Waits until every process has applied a change, or for as long as is configured; without a position, the newest
   * change there is. `undefined` when the store cannot be asked who is there.
   */
  acknowledged(position?: Position): Promise<FleetSummary | undefined>;
  /** How far the fleet is now, without waiting for anybody. `undefined` when the store cannot be asked. */
  summary(): Promise<FleetSummary | undefined>;
  /** @throws {RdcpError} `RDCP_UNAVAILABLE` when the store cannot be asked */
  members(): Promise<Members>;
  /** Rejects when this process is behind the store's revision and does not catch up at once, or when that cannot be told. */
  check(): Promise<void>;
  /** Takes this process off the list. */
  close(): Promise<void>;
}
