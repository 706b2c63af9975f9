import { LRUCache } from 'lru-cache';
import type { AuditDraft } from '../control/types.ts';

/** Addresses that are told apart at a time. A flood from more of them becomes one entry without an address. */
const MAX_ADDRESSES = 1000;

interface Tally {
  draft: AuditDraft;
  count: number;
}

/** Refused requests and handshakes by who sent them and why, until they are written as one entry each. */
export interface RefusalTallies {
  add(draft: AuditDraft): void;
  /** Takes out everything that came together; called once a minute. */
  takeAll(): AuditDraft[];
  /**
   * Takes out what nobody could read of yet, for somebody who looks now. Of each sender once between two calls of
   * {@link RefusalTallies.takeAll}, so that looking often does not make an entry of each request.
   */
  takeUntold(): AuditDraft[];
}

export function createRefusalTallies(): RefusalTallies {
  const told = new Set<string>();
  let elsewhere: Tally | undefined;
  const tallies = new LRUCache<string, Tally>({
    max: MAX_ADDRESSES,
    dispose: (tally, _sender, reason) => {
      if (reason === 'evict') elsewhere = joined(elsewhere, withoutSource(tally.draft), tally.count);
    },
  });

  return {
    add(draft) {
      const sender = JSON.stringify([draft.source?.address, draft.identity.userId, draft.reason]);
      tallies.set(sender, joined(tallies.get(sender), draft, 1));
    },
    takeAll() {
      const taken = [...[...tallies.values()].reverse(), ...(elsewhere ? [elsewhere] : [])];
      tallies.clear();
      told.clear();
      elsewhere = undefined;
      return taken.map(asDraft);
    },
    takeUntold() {
      const taken: Tally[] = [];
      for (const [sender, tally] of [...tallies].reverse()) {
        if (told.has(sender)) continue;
        told.add(sender);
        tallies.delete(sender);
        taken.push(tally);
      }
      return taken.map(asDraft);
    },
  };
}

/** The first request speaks for those that follow it; what only some of them had is left out. */
function joined(tally: Tally | undefined, draft: AuditDraft, count: number): Tally {
  if (tally === undefined) return { draft, count };
  const { requestId: _, source, reason, ...rest } = tally.draft;
  const same = source?.userAgent === draft.source?.userAgent;
  const address = source?.address === undefined ? undefined : { address: source.address };
  tally.draft = {
    ...rest,
    ...(reason !== undefined && reason === draft.reason && { reason }),
    ...(same ? source && { source } : address && { source: address }),
  };
  tally.count += count;
  return tally;
}

function withoutSource({ source: _, identity: __, requestId: ___, ...draft }: AuditDraft): AuditDraft {
  return { ...draft, identity: {} };
}

function asDraft({ draft, count }: Tally): AuditDraft {
  return count === 1 ? draft : { ...draft, count };
}
