import { LRUCache } from 'lru-cache';
import type { AuditDraft } from '../control/types.ts';

/** Addresses with refusals that are not written yet. Beyond that the oldest are written before their minute is over. */
const MAX_ADDRESSES = 10_000;

interface Tally {
  readonly draft: AuditDraft;
  count: number;
}

/**
 * Refused requests by where they came from, until they are written as one entry each. The first one speaks for those
 * that followed it.
 */
export function createRefusalTallies(write: (draft: AuditDraft) => void) {
  const tallies = new LRUCache<string, Tally>({
    max: MAX_ADDRESSES,
    dispose: (tally, _key, reason) => {
      if (reason === 'evict') write(aggregate(tally));
    },
  });
  return {
    add(draft: AuditDraft): void {
      const key = draft.source?.address ?? '';
      const tally = tallies.get(key);
      if (tally === undefined) tallies.set(key, { draft, count: 1 });
      else tally.count += 1;
    },
    /** Writes what has come together. */
    flush(): void {
      const drafts = [...tallies.values()].map(aggregate);
      tallies.clear();
      for (const draft of drafts) write(draft);
    },
  };
}

/** One request is told as it was; of many, what only one of them had is left out. */
function aggregate({ draft, count }: Tally): AuditDraft {
  if (count === 1) return draft;
  const { requestId: _, ...rest } = draft;
  return { ...rest, count };
}
