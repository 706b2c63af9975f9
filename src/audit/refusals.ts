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

/** Bytes that entries of refusals may take in a day, as a store that keeps them writes them. */
const BYTES_PER_DAY = 16 * 1024 * 1024;
/** What an entry takes beside its draft, as measured: its place in the chain, and where a store files it. */
const SEALED_BYTES = 800;
const MINUTES_AN_HOUR = 60;

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

/**
 * Senders that are told apart: bounded, those quiet longest go first. What they may have written in an hour is bounded in
 * bytes as well, because a trail that is kept for months cannot drop it: whoever has no credential would fill the disk.
 */
interface Group {
  readonly most: number;
  readonly tallies: LRUCache<string, Tally>;
  /** Entries that each may have in a minute before the minute ends. */
  readonly each: number;
  /** Those that had any already, and how many. */
  readonly told: Map<string, number>;
  /** Bytes written in this hour. */
  spent: number;
  /** Everything beyond these bounds, in one entry a minute. */
  beyond: Tally | undefined;
  /** Whether somebody who looked has had such an entry in this minute. */
  beyondTold: boolean;
}

/** @param bytesPerDay what entries may take, half of it for known identities; an hour has a 24th */
export function createRefusalTallies(bytesPerDay = BYTES_PER_DAY): RefusalTallies {
  const bytesPerHour = bytesPerDay / 2 / 24;
  const group = (most: number, each: number): Group => {
    const made: Group = {
      most,
      each,
      tallies: new LRUCache<string, Tally>({
        max: most,
        dispose: (tally, _sender, reason) => {
          if (reason === 'evict') made.beyond = merged(made.beyond, tally.draft, tally.count);
        },
      }),
      told: new Map(),
      spent: 0,
      beyond: undefined,
      beyondTold: false,
    };
    return made;
  };
  const known = group(MAX_KNOWN, SINGLE_ENTRIES);
  const strangers = group(MAX_STRANGERS, 1);
  const groups = [known, strangers];
  let minutes = 0;

  const isSpent = ({ spent }: Group) => spent >= bytesPerHour;

  function spend(of: Group, draft: AuditDraft): void {
    of.spent += SEALED_BYTES + JSON.stringify(draft).length;
  }

  /** Counts an entry of the sender; false where it had as many as it may, or too many senders had one. */
  function markTold(of: Group, sender: string): boolean {
    const { most, each, told } = of;
    const count = told.get(sender) ?? 0;
    if (isSpent(of) || count >= each || (count === 0 && told.size >= most)) return false;
    told.set(sender, count + 1);
    return true;
  }

  function takeBeyond(of: Group): readonly AuditDraft[] {
    const { beyond } = of;
    of.beyond = undefined;
    return beyond === undefined ? [] : [asDraft(beyond)];
  }

  function takeTallies(of: Group): readonly AuditDraft[] {
    const taken: AuditDraft[] = [];
    for (const tally of [...of.tallies.values()].reverse()) {
      if (isSpent(of)) {
        of.beyond = merged(of.beyond, tally.draft, tally.count);
        continue;
      }
      const draft = asDraft(tally);
      spend(of, draft);
      taken.push(draft);
    }
    of.tallies.clear();
    of.told.clear();
    of.beyondTold = false;
    return taken;
  }

  return {
    isSingle(draft, path) {
      if (isStranger(draft) || !markTold(known, senderOf(draft, path))) return false;
      spend(known, draft);
      return true;
    },
    add(draft, path) {
      const of = isStranger(draft) ? strangers : known;
      const count = draft.count ?? 1;
      const sender = senderOf(draft, path);
      if (isSpent(of)) of.beyond = merged(of.beyond, draft, count);
      else of.tallies.set(sender, joined(of.tallies.get(sender), draft, count));
    },
    takeAll() {
      const taken = [...groups.flatMap(takeTallies), ...groups.flatMap(takeBeyond)];
      minutes += 1;
      if (minutes % MINUTES_AN_HOUR === 0) for (const of of groups) of.spent = 0;
      return taken;
    },
    takeUntold() {
      const taken: AuditDraft[] = [];
      for (const of of groups) {
        for (const [sender, tally] of [...of.tallies].reverse()) {
          if (!markTold(of, sender)) continue;
          of.tallies.delete(sender);
          const draft = asDraft(tally);
          spend(of, draft);
          taken.push(draft);
        }
        if (!isSpent(of) || of.beyondTold || of.beyond === undefined) continue;
        of.beyondTold = true;
        taken.push(...takeBeyond(of));
      }
      return taken;
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

/** What senders have in common who are not told apart. */
function merged(tally: Tally | undefined, given: AuditDraft, count: number): Tally {
  const { requestId: _, count: __, ...draft } = given;
  if (tally === undefined) return { draft, count };
  const { source, identity, tenant, reason, error, ...rest } = tally.draft;
  tally.draft = {
    ...rest,
    identity: isEqual(identity, draft.identity) ? identity : {},
    ...(source !== undefined && isEqual(source, draft.source) && { source }),
    ...(tenant !== undefined && isEqual(tenant, draft.tenant) && { tenant }),
    ...(reason !== undefined && reason === draft.reason && { reason }),
    ...(error !== undefined && error === draft.error && { error }),
  };
  tally.count += count;
  return tally;
}

function isEqual(a: object | undefined, b: object | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function asDraft({ draft, count }: Tally): AuditDraft {
  return count === 1 ? draft : { ...draft, count };
}
