import { asAuditEntry } from '../protocol/audit-entry.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import { type Timestamp, timestamp } from '../protocol/time.ts';
import { type ChainHead, headOf, isIntact, NO_PREVIOUS_HASH } from './chain.ts';
import { retainUntilOf, saysWhatWasExported } from './exported-records.ts';
import type { PublicKeys } from './signature.ts';

/** Something wrong with a trail. */
export interface ChainFault {
  readonly entry: AuditEntry;
  /**
   * `hash`: the entry was changed. `sequence`, `link`: one before it was taken out, put in, moved or sealed anew. `start`:
   * what came before it is missing, and retention did not drop it. `checkpoint`: it was sealed anew, with all that follows in
   * its chain. `record`: it is not what its log record told. `signature`: it is not signed as it must be, nor is any after it
   * in its chain. `prune`: it says that entries were dropped whose retention was not over when it was written.
   */
  readonly problem: 'hash' | 'sequence' | 'link' | 'start' | 'checkpoint' | 'record' | 'signature' | 'prune';
  readonly message: string;
}

/** Where a process's chain stood at some time. */
export interface Checkpoint extends ChainHead {
  readonly instanceId: string;
}

export interface Verification {
  /** Entries looked at. */
  readonly entries: number;
  /** Where every chain stands, the one with the newest entry first. */
  readonly heads: readonly Checkpoint[];
  /** How many things are wrong with entries. */
  readonly faults: number;
  /** The one that was written first. */
  readonly first?: ChainFault;
  /** Checkpoints whose entry is missing, although retention did not drop it. */
  readonly cut: readonly Checkpoint[];
  /** Ids of entries that waited for the store when their records were exported, and are not in the trail. */
  readonly lost: readonly string[];
  /** Retention has dropped what came before. */
  readonly pruned: boolean;
  /** Chains whose beginning could not be checked, because prunes of an earlier version do not name what they drop. */
  readonly unexplained: number;
}

export interface VerifierOptions {
  /** Where chains stood earlier. Without any, a trail whose end was cut off looks whole. */
  readonly checkpoints?: Iterable<Checkpoint>;
  /** Exported records of entries that had no place in a chain yet, by the entry's id. */
  readonly waiting?: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  /** Keys that chains must be signed with. @default signatures are not looked at */
  readonly keys?: PublicKeys | undefined;
  /** Milliseconds since the epoch: entries that were written earlier need no signature. @default all need one */
  readonly signedSince?: number | undefined;
  /** Take it for granted that what is missing before the oldest entry was dropped by retention. @default false */
  readonly assumeRetention?: boolean;
  /** Milliseconds since the epoch: what is retained until later must be there, whatever the trail says. @default not compared */
  readonly now?: number;
}

/** Takes entries one after the other. */
export interface Verifier {
  see(entry: AuditEntry): void;
  finish(): Verification;
}

/** A chain, as far as it was walked. */
interface Walked {
  readonly head: Checkpoint;
  /** Whether a signature vouches for what comes next, or one is missing already. */
  signed: boolean;
  /** The oldest entry that was seen, and where. */
  oldest: AuditEntry;
  position: number;
  /** What the next older one must be; `undefined` where the entry that says so was changed. */
  sequence: number | undefined;
  hash: string | undefined;
}

/** The last entry of a chain that retention dropped, or is about to. */
interface Dropped {
  readonly sequence: number;
  readonly hash: string;
  /** Whether it is still there: a prune that was interrupted has dropped only what comes before it. */
  remains: boolean;
}

type Located = ChainFault & { readonly position: number };

/**
 * Checks a whole trail, newest entry first, as stores and servers give it out: the hash of each entry, the unbroken sequence and
 * links of each process's chain, and that each chain begins at an entry that is there, or right behind one that retention
 * dropped. Its memory grows with the number of processes and checkpoints, not of entries.
 */
export function createVerifier(options: VerifierOptions = {}): Verifier {
  const { checkpoints = [], waiting, keys, signedSince = 0, assumeRetention = false, now } = options;
  const told = new Map(waiting);
  const chains = new Map<string, Walked>();
  /** Chains that begin at an entry which is still to come, by its hash. */
  const awaited = new Map<string, Walked[]>();
  const expected = createExpectations(checkpoints);
  const dropped = new Map<string, Dropped>();
  let position = 0;
  let faults = 0;
  let unexplained = 0;
  let first: Located | undefined;
  /** Everything that was dropped was retained until then at the longest; `undefined` while no entry tells of a prune. */
  let prunedUntil: Timestamp | undefined;
  /** Whether there was a prune that does not name what it dropped, as those of the first format. */
  let prunesUnnamed = false;
  let oldest: AuditEntry | undefined;

  function fault(found: Located): void {
    faults += 1;
    // The walk goes back in time: what lies further on was written earlier.
    if (first === undefined || found.position >= first.position) first = found;
  }

  /** What the newer neighbour in its chain says of an entry. */
  function compare(newer: Walked, { compliance: { sequence, hash } }: AuditEntry): void {
    const { oldest: entry, position: at } = newer;
    if (newer.sequence !== undefined && sequence !== newer.sequence) {
      const message =
        newer.sequence === 0
          ? 'its chain begins with it, but has entries before it'
          : `entry ${newer.sequence} of its chain should stand before it`;
      fault({ entry, position: at, problem: 'sequence', message });
    } else if (newer.hash !== undefined && hash !== newer.hash) {
      fault({ entry, position: at, problem: 'link', message: 'it does not point at the one before it' });
    }
  }

  /** The newest signature of a chain vouches for all before it: links lead there. */
  function isVouchedFor(newer: Walked | undefined, entry: AuditEntry): boolean {
    if (keys === undefined || newer?.signed === true) return true;
    const { hash, signature } = entry.compliance;
    const found = signature === undefined ? 'unknown' : keys.check(hash, signature);
    if (found === 'right') return true;
    if (found === 'unknown' && Date.parse(entry.timestamp) < signedSince) return false;
    const message =
      signature === undefined
        ? 'neither it nor anything that its process wrote after it is signed'
        : found === 'unknown'
          ? 'it is signed with a key that was not given'
          : 'its signature is wrong';
    fault({ entry, position, problem: 'signature', message });
    return true;
  }

  function compareRecord(entry: AuditEntry): void {
    const exported = told.get(entry.id);
    if (exported === undefined) return;
    told.delete(entry.id);
    if (saysWhatWasExported(entry, exported)) return;
    fault({ entry, position, problem: 'record', message: 'it does not say what its log record told' });
  }

  function seePrune(entry: AuditEntry): void {
    const until = entry.dropped?.until ?? entry.timestamp;
    if (until > entry.timestamp) {
      const message = `it drops entries that were retained until ${until}, which was still to come`;
      fault({ entry, position, problem: 'prune', message });
      return;
    }
    if (prunedUntil === undefined || until > prunedUntil) prunedUntil = until;
    if (entry.dropped === undefined) prunesUnnamed = true;
    for (const { instanceId, sequence, hash } of entry.dropped?.chains ?? []) {
      const newest = dropped.get(instanceId);
      if (newest === undefined || sequence > newest.sequence) {
        dropped.set(instanceId, { sequence, hash, remains: false });
      }
    }
  }

  /** Whether a prune that was seen may have dropped what was retained until then. */
  function mayBeDropped(retainUntil: Timestamp): boolean {
    return prunedUntil !== undefined && retainUntil <= prunedUntil;
  }

  /**
   * Whether the entry before this one may be gone. An entry of the second format says how long that was retained, unless it
   * was written while it was: then a prune names it, where the store tells prunes what they drop.
   */
  function previousMayBeGone({ compliance: { format, previousRetainUntil } }: AuditEntry): 'yes' | 'no' | 'unknown' {
    if (previousRetainUntil !== undefined) return mayBeDropped(previousRetainUntil) ? 'yes' : 'no';
    const namedNowhere = prunesUnnamed || (format === undefined && prunedUntil !== undefined);
    return namedNowhere ? 'unknown' : 'no';
  }

  /** The target was there when the chain began: what retention dropped before that is no excuse for it. */
  function expectTarget(chain: Walked, hash: string): void {
    if (hash === NO_PREVIOUS_HASH || previousMayBeGone(chain.oldest) !== 'no') return;
    awaited.set(hash, [...(awaited.get(hash) ?? []), chain]);
  }

  function see(given: AuditEntry): void {
    const entry = asAuditEntry(given, () => ({ id: 'unknown', timestamp: 'unknown' }));
    position += 1;
    oldest = entry;
    const { instanceId, sequence, previousHash, hash } = entry.compliance;
    const intact = isIntact(entry);
    const newer = chains.get(instanceId);
    const met = expected.meets(instanceId, sequence, hash);
    if (!intact) {
      fault({ entry, position, problem: 'hash', message: 'it is not what was sealed' });
    } else {
      if (newer !== undefined) compare(newer, entry);
      if (!met) {
        const message = 'it is not the entry that the checkpoint tells of';
        fault({ entry, position, problem: 'checkpoint', message });
      }
      compareRecord(entry);
      if (entry.action === 'prune') seePrune(entry);
      const end = dropped.get(instanceId);
      if (end?.sequence === sequence && end.hash === hash) end.remains = true;
    }
    awaited.delete(hash);
    const before = newer?.sequence;
    const walked: Walked = {
      head: newer?.head ?? { instanceId, ...headOf(entry) },
      signed: intact ? isVouchedFor(newer, entry) : newer?.signed === true,
      oldest: entry,
      position,
      sequence: intact ? sequence - 1 : before === undefined ? undefined : before - 1,
      hash: intact ? previousHash : undefined,
    };
    chains.set(instanceId, walked);
    if (intact && sequence === 1) expectTarget(walked, previousHash);
  }

  /** What is wrong with the beginning of a chain: it must be its first entry, or the one right behind what retention dropped. */
  function wrongStart({ oldest: entry, sequence, hash }: Walked): string | undefined {
    const end = dropped.get(entry.compliance.instanceId);
    if (sequence === undefined || end?.remains === true) return undefined;
    if (end === undefined) return sequence > 0 ? unexplainedStart(entry) : undefined;
    if (sequence > end.sequence) {
      return `the entries before it are missing, and retention dropped no more than entry ${end.sequence} of its chain`;
    }
    if (sequence < end.sequence) {
      return `entry ${end.sequence} of its chain, up to which retention dropped it, was another one`;
    }
    const follows = hash === undefined || hash === end.hash;
    return follows ? undefined : 'it does not point at the entry that retention dropped last';
  }

  /** The same where no entry names the chain. */
  function unexplainedStart(entry: AuditEntry): string | undefined {
    const gone = previousMayBeGone(entry);
    if (gone === 'unknown') unexplained += 1;
    return gone === 'no'
      ? 'the entries before it are missing, and no entry tells that retention dropped them'
      : undefined;
  }

  /** A chain begins with its first entry, at one that is there or at none; retention alone may have taken those away. */
  function checkBeginnings(): void {
    if (assumeRetention && oldest?.compliance.previousHash !== NO_PREVIOUS_HASH) return;
    for (const chain of chains.values()) {
      const message = wrongStart(chain);
      if (message !== undefined) fault({ entry: chain.oldest, position: chain.position, problem: 'start', message });
    }
    for (const { oldest: entry, position: at } of [...awaited.values()].flat()) {
      fault({ entry, position: at, problem: 'link', message: 'the entry that its chain begins at is missing' });
    }
  }

  /** Whether retention, and nobody else, has taken away the entry that a checkpoint tells of. */
  function isDropped({ instanceId, sequence, hash, retainUntil }: Checkpoint): boolean {
    const head = chains.get(instanceId)?.head;
    if (head !== undefined && head.sequence < sequence) return false;
    const end = dropped.get(instanceId);
    if (end !== undefined && (sequence > end.sequence || (sequence === end.sequence && hash !== end.hash)))
      return false;
    if (retainUntil !== undefined && now !== undefined && retainUntil > timestamp(now)) return false;
    return retainUntil === undefined ? prunedUntil !== undefined : mayBeDropped(retainUntil);
  }

  return {
    see,
    finish() {
      checkBeginnings();
      const heads = [...chains.values()].map(({ head }) => head);
      const { position: _, ...found } = first ?? { position: 0 };
      return {
        entries: position,
        heads,
        faults,
        ...(first && { first: found as ChainFault }),
        cut: [...expected.contradicted, ...expected.unmet().filter((checkpoint) => !isDropped(checkpoint))],
        lost: [...told].filter(([, record]) => !mayBeDropped(retainUntilOf(record) ?? '')).map(([id]) => id),
        pruned: prunedUntil !== undefined,
        unexplained,
      };
    },
  };
}

/** Checkpoints by the entry that they tell of. */
function createExpectations(checkpoints: Iterable<Checkpoint>) {
  const byInstance = new Map<string, Map<number, Checkpoint>>();
  /** Of two that tell of one entry differently, one is wrong, whatever the trail has. */
  const contradicted: Checkpoint[] = [];
  for (const checkpoint of checkpoints) {
    const { instanceId, sequence, hash } = checkpoint;
    const bySequence = byInstance.get(instanceId) ?? new Map<number, Checkpoint>();
    byInstance.set(instanceId, bySequence);
    const other = bySequence.get(sequence);
    if (other === undefined) bySequence.set(sequence, checkpoint);
    else if (other.hash !== hash) contradicted.push(checkpoint);
  }
  return {
    /** False for an entry that is not the one told of. */
    meets(instanceId: string, sequence: number, hash: string): boolean {
      const bySequence = byInstance.get(instanceId);
      const told = bySequence?.get(sequence);
      bySequence?.delete(sequence);
      return told === undefined || told.hash === hash;
    },
    contradicted: contradicted as readonly Checkpoint[],
    unmet: (): Checkpoint[] => [...byInstance.values()].flatMap((bySequence) => [...bySequence.values()]),
  };
}

/**
 * The first thing wrong with a trail that is at hand, in the order in which it was written. Its oldest entries may have been dropped
 * by retention.
 */
export function verify(entries: Iterable<AuditEntry>): ChainFault | undefined {
  const verifier = createVerifier({ assumeRetention: true });
  for (const entry of [...entries].reverse()) verifier.see(entry);
  return verifier.finish().first;
}
