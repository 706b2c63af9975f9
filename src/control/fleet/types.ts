import type { Instance } from '../../store/fleet.ts';
import type { FleetSummary } from '../../wire/messages.ts';

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
