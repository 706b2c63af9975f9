import { LRUCache } from 'lru-cache';
import type { AuditDraft } from './types.ts';

/**
 * Senders without a valid credential that are told apart in a minute. A flood from more of them becomes one entry without
 * an address, so that it cannot push an operator's entries out of a bounded trail.
 */
const MAX_STRANGERS = 50;
/** The same for known identities, each with what it was refused. */
const MAX_KNOWN = 1000;
/** Refusals of a known identity that are an entry each, with their request id: of one endpoint and code, in a minute. */
const SINGLE_ENTRIES = 10;

interface Tally {
  draft: AuditDraft;
  count: number;
}

/** Refused requests and handshakes by who sent them and why, until they are written as one entry each. */
export interface RefusalTallies {
  /** Whether a refusal is to be an entry of its own, at once: a known identity's first few in a minute. Others are counted. */
  isSingle(draft: AuditDraft, path?: string): boolean;
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
  /** Entries that each may have in a minute before the minute ends. */
  readonly each: number;
  /** Those that had any already, and how many. */
  readonly told: Map<string, number>;
}

export function createRefusalTallies(): RefusalTallies {
  let elsewhere: Tally | undefined;
  const group = (most: number, each: number): Group => ({
    most,
    each,
    tallies: new LRUCache<string, Tally>({
      max: most,
      dispose: (tally, _sender, reason) => {
        if (reason === 'evict') elsewhere = joined(elsewhere, withoutSource(tally.draft), tally.count);
      },
    }),
    told: new Map(),
  });
  const known = group(MAX_KNOWN, SINGLE_ENTRIES);
  const strangers = group(MAX_STRANGERS, 1);

  /** Counts an entry of the sender; false where it had as many as it may, or too many senders had one. */
  function markTold({ most, each, told }: Group, sender: string): boolean {
    const count = told.get(sender) ?? 0;
    if (count >= each || (count === 0 && told.size >= most)) return false;
    told.set(sender, count + 1);
    return true;
  }

  return {
    isSingle: (draft, path) => !isStranger(draft) && markTold(known, senderOf(draft, path)),
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
