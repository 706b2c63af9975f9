import type { AuditEntry } from '../wire/audit-messages.ts';
import type { StateStore } from './state-store.ts';

/** The last entry of a chain that is dropped. */
export type DroppedHead = NonNullable<AuditEntry['dropped']>['chains'][number];

/** Most entries that one prune drops; the next prune continues. */
const MOST_DROPPED = 100_000;
/** Most chains that one prune shortens, since its audit entry names each of them. */
const MOST_CHAINS = 500;
/** Retained entries in a row after which the search stops. Chains are interleaved, so a few in a row prove nothing. */
const MOST_RETAINED = 5_000;

/** An entry and its position in the store. */
export interface Placed<P> {
  /** Where the store keeps the entry. */
  readonly place: P;
  /** The entry. */
  readonly entry: AuditEntry;
}

/** The entries to drop, and the last of each chain, which the entry `prune` names. */
export interface PrunePlan<P> {
  /** In the order of writing. */
  readonly places: readonly P[];
  /** The last entry to drop of each chain. */
  readonly heads: readonly DroppedHead[];
}

/**
 * Plans a prune: from each chain the oldest entries, up to the first that is retained or may not be dropped. The rest
 * of a chain has no gap and begins right after the named entry.
 * @param batches the trail, oldest entry first
 */
export async function planPrune<P>(
  batches: AsyncIterable<readonly Placed<P>[]>,
  now: number,
  mayDrop: (entry: AuditEntry) => boolean,
): Promise<PrunePlan<P>> {
  const places: P[] = [];
  const heads = new Map<string, DroppedHead>();
  /** Chains that keep their entries from here on. */
  const stopped = new Set<string>();
  let retained = 0;
  let pruneStays = false;

  /** A prune entry stays while it explains where a chain begins. The newest ones that name a chain are enough. */
  function isNeeded({ dropped }: AuditEntry): boolean {
    if (pruneStays) return true;
    if (dropped === undefined) return stopped.size > 0;
    return dropped.chains.some(({ instanceId }) => stopped.has(instanceId) && !heads.has(instanceId));
  }

  function visit({ place, entry }: Placed<P>): void {
    const { action, compliance } = entry;
    const { instanceId, sequence, hash, retainUntil } = compliance;
    const ended = Date.parse(retainUntil) <= now;
    retained = ended ? 0 : retained + 1;
    const named = heads.has(instanceId) || heads.size < MOST_CHAINS;
    const isPrune = action === 'prune';
    if (ended && named && !stopped.has(instanceId) && !(isPrune && isNeeded(entry)) && mayDrop(entry)) {
      places.push(place);
      heads.set(instanceId, { instanceId, sequence, hash });
      return;
    }
    stopped.add(instanceId);
    if (isPrune) pruneStays = true;
  }

  for await (const batch of batches) {
    for (const placed of batch) visit(placed);
    if (retained >= MOST_RETAINED || places.length >= MOST_DROPPED) break;
  }
  return { places, heads: [...heads.values()] };
}

/** A trail, as far as a prune needs it. */
export interface Prunable<P> {
  /** Oldest entry first. */
  batches(): AsyncIterable<readonly Placed<P>[]>;
  /** Returns how many entries it dropped. */
  drop(places: readonly P[]): number | Promise<number>;
}

/** `StateStore.pruneAudit` for a trail. */
export async function prune<P>(
  { batches, drop }: Prunable<P>,
  ...[now, starting = async () => true, mayDrop = () => true]: Parameters<StateStore['pruneAudit']>
): Promise<number> {
  const { places, heads } = await planPrune(batches(), now, mayDrop);
  return places.length > 0 && (await starting(heads)) ? drop(places) : 0;
}
