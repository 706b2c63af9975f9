import type { AuditEntry } from '../protocol/messages.ts';

/** The last entry of a chain that is dropped. */
export type DroppedHead = NonNullable<AuditEntry['dropped']>['chains'][number];

/** Most entries that one prune drops: the next one goes on. */
const MOST_DROPPED = 100_000;
/** Most chains that one prune ends or shortens: the entry that tells of it names each. */
const MOST_CHAINS = 500;
/** Entries in a row that are still retained, after which the rest is taken to be: chains are written side by side. */
const MOST_RETAINED = 5_000;

/** An entry, and where a store keeps it. */
export interface Placed<P> {
  readonly place: P;
  readonly entry: AuditEntry;
}

export interface PrunePlan<P> {
  /** In the order of writing. */
  readonly places: readonly P[];
  readonly heads: readonly DroppedHead[];
}

/**
 * What a prune drops: of each chain its oldest entries, up to the first that is retained or may not be dropped. So what is
 * left of a chain has no gap, and begins right behind the entry that is named.
 * @param batches the trail, oldest entry first
 */
export async function planPrune<P>(
  batches: AsyncIterable<readonly Placed<P>[]>,
  now: number,
  mayDrop: (entry: AuditEntry) => boolean,
): Promise<PrunePlan<P>> {
  const places: P[] = [];
  const heads = new Map<string, DroppedHead>();
  /** Chains of which an entry stays. */
  const stopped = new Set<string>();
  let retained = 0;
  let pruneStays = false;

  /**
   * An entry that tells of a prune stays while it explains where a chain begins. Of several the newest stay: what none of
   * them names was not dropped since.
   */
  function isNeeded({ dropped }: AuditEntry): boolean {
    if (pruneStays) return true;
    if (dropped === undefined) return stopped.size > 0;
    return dropped.chains.some(({ instanceId }) => stopped.has(instanceId) && !heads.has(instanceId));
  }

  function look({ place, entry }: Placed<P>): void {
    const { action, compliance } = entry;
    const { instanceId, sequence, hash, retainUntil } = compliance;
    const ended = Date.parse(retainUntil) <= now;
    retained = ended ? 0 : retained + 1;
    const named = heads.has(instanceId) || heads.size < MOST_CHAINS;
    const tells = action === 'prune';
    if (ended && named && !stopped.has(instanceId) && !(tells && isNeeded(entry)) && mayDrop(entry)) {
      places.push(place);
      heads.set(instanceId, { instanceId, sequence, hash });
      return;
    }
    stopped.add(instanceId);
    if (tells) pruneStays = true;
  }

  for await (const batch of batches) {
    for (const placed of batch) look(placed);
    if (retained >= MOST_RETAINED || places.length >= MOST_DROPPED) break;
  }
  return { places, heads: [...heads.values()] };
}
