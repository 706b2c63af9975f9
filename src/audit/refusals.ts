import { LRUCache } from 'lru-cache';
import type { AuditDraft } from './types.ts';

/**
 * Unauthenticated senders counted separately in a minute. A flood from more of them becomes one entry without an
 * address, so that it cannot push an operator's entries out of a bounded trail.
 */
const MAX_STRANGERS = 50;
/** The same for known identities, by what they were refused. */
const MAX_KNOWN = 1000;
/** Refusals of a known identity that each get an entry with their request id, per endpoint, code and minute. */
const SINGLE_ENTRIES = 10;

/** Bytes that refusal entries may take in a day, as a persistent store writes them. */
const BYTES_PER_DAY = 16 * 1024 * 1024;
/** Size of an entry without its draft, as measured: chain fields and the store's indexes. */
const SEALED_BYTES = 800;
const MINUTES_AN_HOUR = 60;

interface Tally {
  draft: AuditDraft;
  count: number;
}

/** Counts refused requests and handshakes by sender and reason, until each count is written as one entry. */
export interface RefusalTallies {
  /**
   * Whether a refusal gets an entry of its own at once: the first few of a known identity in a minute. Others are
   * counted.
   */
  isSingle(draft: AuditDraft, path?: string): boolean;
  add(draft: AuditDraft, path?: string): void;
  /** Removes and returns all counts; called once a minute. */
  takeAll(): AuditDraft[];
  /**
   * Removes and returns counts that are not in the trail yet, for a query. Returns each sender at most once between two
   * calls of {@link RefusalTallies.takeAll}, so that frequent queries do not turn every request into an entry.
   */
  takeUnwritten(): AuditDraft[];
}

/**
 * Senders counted separately: a bounded LRU. Bytes per hour are bounded as well, since a trail retained for months must
 * keep these entries: otherwise an unauthenticated client could fill the disk.
 */
interface Group {
  readonly most: number;
  readonly tallies: LRUCache<string, Tally>;
  /** Entries that one sender may have before the minute ends. */
  readonly each: number;
  /** How many entries each sender has had in this minute. */
  readonly written: Map<string, number>;
  /** Bytes written in this hour. */
  spent: number;
  /** Everything beyond these bounds, as one entry a minute. */
  beyond: Tally | undefined;
  /** Whether a query has written that entry in this minute. */
  beyondWritten: boolean;
}

/** @param bytesPerDay bytes that entries may take: half for known identities, and a 24th per hour */
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
      written: new Map(),
      spent: 0,
      beyond: undefined,
      beyondWritten: false,
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

  /** Counts an entry of the sender; returns false when the sender, or the number of senders, is over its limit. */
  function markWritten(of: Group, sender: string): boolean {
    const { most, each, written } = of;
    const count = written.get(sender) ?? 0;
    if (isSpent(of) || count >= each || (count === 0 && written.size >= most)) return false;
    written.set(sender, count + 1);
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
    of.written.clear();
    of.beyondWritten = false;
    return taken;
  }

  return {
    isSingle(draft, path) {
      if (isStranger(draft) || !markWritten(known, senderOf(draft, path))) return false;
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
    takeUnwritten() {
      const taken: AuditDraft[] = [];
      for (const of of groups) {
        for (const [sender, tally] of [...of.tallies].reverse()) {
          if (!markWritten(of, sender)) continue;
          of.tallies.delete(sender);
          const draft = asDraft(tally);
          spend(of, draft);
          taken.push(draft);
        }
        if (!isSpent(of) || of.beyondWritten || of.beyond === undefined) continue;
        of.beyondWritten = true;
        taken.push(...takeBeyond(of));
      }
      return taken;
    },
  };
}

function isStranger({ identity }: AuditDraft): boolean {
  return identity.method === undefined;
}

/** An unauthenticated sender is its address and the reason; a known identity also counts by what it was refused. */
function senderOf(draft: AuditDraft, path: string | undefined): string {
  const { source, reason, identity, tenant, action, error } = draft;
  if (isStranger(draft)) return JSON.stringify([source?.address, reason]);
  return JSON.stringify([source?.address, reason, identity.userId, identity.clientId, tenant?.id, action, error, path]);
}

/** Keeps the first request's details, without those that later requests do not share. */
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

/** Merges senders, keeping only the details that they share. */
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
