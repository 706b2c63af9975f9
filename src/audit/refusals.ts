import { LRUCache } from 'lru-cache';
import type { AuditDraft } from '../control/types.ts';

/**
 * Senders without a valid credential that are told apart in a minute. A flood from more of them becomes one entry without
 * an address, so that it cannot push an operator's entries out of a bounded trail.
 */
const MAX_STRANGERS = 50;
/** The same for known identities, each with what it was refused. */
const MAX_KNOWN = 1000;

interface Tally {
  draft: AuditDraft;
  count: number;
}

/** Refused requests and handshakes by who sent them and why, until they are written as one entry each. */
export interface RefusalTallies {
  /** True for the first refusal of a known identity in a minute, which is an entry at once; what repeats it is counted. */
  isFirst(draft: AuditDraft, path?: string): boolean;
  add(draft: AuditDraft, path?: string): void;
  /** Takes out everything that came together; called once a minute. */
  takeAll(): AuditDraft[];
  /**
   * Takes out what nobody could read of yet, for somebody who looks now. Of each sender once between two calls of
   * {@link RefusalTallies.takeAll}, so that looking often does not make an entry of each request.
   */
  takeUntold(): AuditDraft[];
}

/** Senders that are told apart: bounded, those quiet longest go first. */
interface Group {
  readonly most: number;
  readonly tallies: LRUCache<string, Tally>;
  /** Those that have an entry of this minute already. */
  readonly told: Set<string>;
}

export function createRefusalTallies(): RefusalTallies {
  let elsewhere: Tally | undefined;
  const group = (most: number): Group => ({
    most,
    tallies: new LRUCache<string, Tally>({
      max: most,
      dispose: (tally, _sender, reason) => {
        if (reason === 'evict') elsewhere = joined(elsewhere, withoutSource(tally.draft), tally.count);
      },
    }),
    told: new Set(),
  });
  const known = group(MAX_KNOWN);
  const strangers = group(MAX_STRANGERS);

  /** Makes the sender one that has its entry of this minute; false where it has one, or too many have. */
  function markTold({ most, told }: Group, sender: string): boolean {
    if (told.has(sender) || told.size >= most) return false;
    told.add(sender);
    return true;
  }

  return {
    isFirst: (draft, path) => !isStranger(draft) && markTold(known, senderOf(draft, path)),
    add(draft, path) {
      const { tallies } = isStranger(draft) ? strangers : known;
      const sender = senderOf(draft, path);
      tallies.set(sender, joined(tallies.get(sender), draft, draft.count ?? 1));
    },
    takeAll() {
      const taken = [known, strangers].flatMap(({ tallies }) => [...tallies.values()].reverse());
      if (elsewhere !== undefined) taken.push(elsewhere);
      for (const { tallies, told } of [known, strangers]) {
        tallies.clear();
        told.clear();
      }
      elsewhere = undefined;
      return taken.map(asDraft);
    },
    takeUntold() {
      const taken: Tally[] = [];
      for (const each of [known, strangers]) {
        for (const [sender, tally] of [...each.tallies].reverse()) {
          if (!markTold(each, sender)) continue;
          each.tallies.delete(sender);
          taken.push(tally);
        }
      }
      return taken.map(asDraft);
    },
  };
}

function isStranger({ identity }: AuditDraft): boolean {
  return identity.method === undefined;
}

/** Of a stranger one address is one sender; a known identity is counted by what it was refused as well. */
function senderOf(draft: AuditDraft, path: string | undefined): string {
  const { source, reason, identity, tenant, action, error } = draft;
  if (isStranger(draft)) return JSON.stringify([source?.address, reason]);
  return JSON.stringify([source?.address, reason, identity.userId, identity.clientId, tenant?.id, action, error, path]);
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
