import { asAuditEntry } from '../wire/audit-entry.ts';
import type { AuditEntry } from '../wire/audit-messages.ts';
import { type Timestamp, timestamp } from '../wire/time.ts';
import { type ChainHead, headOf, isIntact, NO_PREVIOUS_HASH } from './chain.ts';
import { retainUntilOf, saysWhatWasExported } from './log-record.ts';
import type { PublicKeys } from './signature.ts';

export interface ChainFault {
  readonly entry: AuditEntry;
  /**
   * `hash`: the entry was changed. `sequence`, `link`: an entry before it was removed, inserted, moved or resealed.
   * `start`: entries before it are missing, and retention did not drop them. `checkpoint`: it was resealed, with every
   * later entry of its chain. `record`: it differs from its exported log record. `signature`: neither it nor a later
   * entry of its chain is signed as required. `prune`: it says that entries were dropped before their retention was
   * over, or does not say which.
   */
  readonly problem: 'hash' | 'sequence' | 'link' | 'start' | 'checkpoint' | 'record' | 'signature' | 'prune';
  readonly message: string;
}

export interface Checkpoint extends ChainHead {
  readonly instanceId: string;
}

export interface Verification {
  readonly entries: number;
  /** The end of every chain; the chain with the newest entry comes first. */
  readonly heads: readonly Checkpoint[];
  readonly faults: number;
  /** The fault in the oldest entry. */
  readonly first?: ChainFault;
  /** Checkpoints whose entry is missing, although retention did not drop it. */
  readonly cut: readonly Checkpoint[];
  /** Ids of entries that were deferred when their records were exported, and are missing from the trail. */
  readonly lost: readonly string[];
  /** Whether retention has dropped earlier entries. */
  readonly pruned: boolean;
}

export interface VerifierOptions {
  /** Earlier ends of chains. Without them, a trail with its end cut off looks complete. */
  readonly checkpoints?: Iterable<Checkpoint>;
  /** Exported records of deferred entries, by entry id. */
  readonly waiting?: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  /** Keys that chains must be signed with. @default signatures are not checked */
  readonly keys?: PublicKeys | undefined;
  /** Milliseconds since the epoch: earlier entries need no signature. @default all need one */
  readonly signedSince?: number | undefined;
  /** Milliseconds since the epoch: entries retained beyond it must be present. @default not checked */
  readonly now?: number;
}

interface ChainWalk {
  readonly head: Checkpoint;
  /** Whether a signature covers what comes next, or one is missing already. */
  signed: boolean;
  oldest: AuditEntry;
  position: number;
  /** The expected sequence of the next older entry; `undefined` after a changed entry. */
  sequence: number | undefined;
  hash: string | undefined;
}

/** The last entry of a chain that retention dropped, or is about to drop. */
interface DroppedEnd {
  readonly sequence: number;
  readonly hash: string;
  /** Whether it is still there: an interrupted prune drops only the entries before it. */
  remains: boolean;
}

/**
 * Checks a whole trail, newest entry first, as stores and servers return it: the hash of each entry, the sequence and
 * links of each process's chain, and that each chain begins at an existing entry or right after one that retention
 * dropped. Memory grows with the number of processes and checkpoints, not of entries.
 */
export function createVerifier(options: VerifierOptions = {}) {
  const { checkpoints = [], waiting, keys, signedSince = 0, now } = options;
  const deferred = new Map(waiting);
  const chains = new Map<string, ChainWalk>();
  /** Chains that link to an entry further back, by its hash. */
  const awaited = new Map<string, ChainWalk[]>();
  /** Checkpoints whose entry was not seen yet, by the place of that entry. */
  const expected = new Map<string, Checkpoint>();
  /** When two checkpoints disagree about one entry, one is wrong, whatever the trail holds. */
  const contradicted: Checkpoint[] = [];
  for (const checkpoint of checkpoints) {
    const other = expected.get(placeOf(checkpoint));
    if (other === undefined) expected.set(placeOf(checkpoint), checkpoint);
    else if (other.hash !== checkpoint.hash) contradicted.push(checkpoint);
  }
  const dropped = new Map<string, DroppedEnd>();
  let position = 0;
  let faults = 0;
  let first: (ChainFault & { readonly position: number }) | undefined;
  /** The latest retention date of everything that was dropped; `undefined` before a prune entry was seen. */
  let prunedUntil: Timestamp | undefined;

  /** @param at the entry, and its position */
  function fault(at: Pick<ChainWalk, 'oldest' | 'position'>, problem: ChainFault['problem'], message: string): void {
    faults += 1;
    // The walk goes back in time: a later position is an older entry.
    if (first !== undefined && at.position < first.position) return;
    first = { entry: at.oldest, position: at.position, problem, message };
  }

  function compare(newer: ChainWalk, { compliance: { sequence, hash } }: AuditEntry): void {
    if (newer.sequence !== undefined && sequence !== newer.sequence) {
      const message =
        newer.sequence === 0
          ? 'it is the first of its chain, but other entries come before it'
          : `entry ${newer.sequence} of its chain should stand before it`;
      fault(newer, 'sequence', message);
    } else if (newer.hash !== undefined && hash !== newer.hash) {
      fault(newer, 'link', 'it does not link to the entry before it');
    }
  }

  /** The newest signature of a chain covers every entry before it, through the links. */
  function isVouchedFor(newer: ChainWalk | undefined, entry: AuditEntry): boolean {
    if (keys === undefined || newer?.signed === true) return true;
    const { hash, signature } = entry.compliance;
    const found = signature === undefined ? 'unknown' : keys.check(hash, signature);
    if (found === 'right') return true;
    if (found === 'unknown' && Date.parse(entry.timestamp) < signedSince) return false;
    const message =
      signature === undefined
        ? 'neither it nor a later entry of its process is signed'
        : found === 'unknown'
          ? 'it is signed with an unknown key'
          : 'its signature is wrong';
    fault({ oldest: entry, position }, 'signature', message);
    return true;
  }

  function compareRecord(entry: AuditEntry): void {
    const exported = deferred.get(entry.id);
    if (exported === undefined) return;
    deferred.delete(entry.id);
    if (saysWhatWasExported(entry, exported)) return;
    fault({ oldest: entry, position }, 'record', 'it differs from its exported log record');
  }

  function seePrune(entry: AuditEntry): void {
    const { until = '', chains: ends = [] } = entry.dropped ?? {};
    const problem =
      ends.length === 0
        ? 'it does not say what was dropped'
        : until > entry.timestamp && `it drops entries that were retained until ${until}, a later time`;
    if (problem) {
      fault({ oldest: entry, position }, 'prune', problem);
      return;
    }
    if (prunedUntil === undefined || until > prunedUntil) prunedUntil = until;
    for (const { instanceId, sequence, hash } of ends) {
      const newest = dropped.get(instanceId);
      if (newest === undefined || sequence > newest.sequence) {
        dropped.set(instanceId, { sequence, hash, remains: false });
      }
    }
  }

  function mayBeDropped(retainUntil: Timestamp): boolean {
    return prunedUntil !== undefined && retainUntil <= prunedUntil;
  }

  /** An entry says how long the one before it was retained where that could have ended already. */
  function previousMayBeGone({ compliance: { previousRetainUntil } }: AuditEntry): boolean {
    return previousRetainUntil !== undefined && mayBeDropped(previousRetainUntil);
  }

  /** The target existed when the chain began, so an earlier prune does not explain its absence. */
  function expectTarget(chain: ChainWalk, hash: string): void {
    if (hash === NO_PREVIOUS_HASH || previousMayBeGone(chain.oldest)) return;
    awaited.set(hash, [...(awaited.get(hash) ?? []), chain]);
  }

  function see(given: AuditEntry): void {
    const entry = asAuditEntry(given, () => ({ id: 'unknown', timestamp: 'unknown' }));
    position += 1;
    const { instanceId, sequence, previousHash, hash } = entry.compliance;
    const intact = isIntact(entry);
    const newer = chains.get(instanceId);
    const checkpoint = expected.get(placeOf(entry.compliance));
    expected.delete(placeOf(entry.compliance));
    if (!intact) {
      fault({ oldest: entry, position }, 'hash', 'its content does not match its hash');
    } else {
      if (newer !== undefined) compare(newer, entry);
      if (checkpoint !== undefined && checkpoint.hash !== hash) {
        fault({ oldest: entry, position }, 'checkpoint', 'it does not match its checkpoint');
      }
      compareRecord(entry);
      if (entry.action === 'prune') seePrune(entry);
      const end = dropped.get(instanceId);
      if (end?.sequence === sequence && end.hash === hash) end.remains = true;
    }
    awaited.delete(hash);
    const before = newer?.sequence;
    const walked: ChainWalk = {
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

  /** A chain must begin with its first entry, or right after those that retention dropped. */
  function wrongStart({ oldest: entry, sequence, hash }: ChainWalk): string | undefined {
    const end = dropped.get(entry.compliance.instanceId);
    if (sequence === undefined || end?.remains === true) return undefined;
    if (end === undefined) {
      return sequence === 0 || previousMayBeGone(entry)
        ? undefined
        : 'the entries before it are missing, and no entry says that retention dropped them';
    }
    if (sequence > end.sequence) {
      return `the entries before it are missing, and retention dropped no more than entry ${end.sequence} of its chain`;
    }
    if (sequence < end.sequence) {
      return `retention dropped entry ${end.sequence} of its chain, and another entry stands in its place`;
    }
    const follows = hash === undefined || hash === end.hash;
    return follows ? undefined : 'it does not link to the last entry that retention dropped';
  }

  /** The first entry of a chain links to an existing entry or to none. Only retention may have dropped either. */
  function checkBeginnings(): void {
    for (const chain of chains.values()) {
      const message = wrongStart(chain);
      if (message !== undefined) fault(chain, 'start', message);
    }
    for (const chain of [...awaited.values()].flat()) {
      fault(chain, 'link', 'the entry that its chain begins at is missing');
    }
  }

  /** Whether retention alone explains the absence of a checkpoint's entry. */
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
    finish(): Verification {
      checkBeginnings();
      const heads = [...chains.values()].map(({ head }) => head);
      const { position: _, ...found } = first ?? {};
      return {
        entries: position,
        heads,
        faults,
        ...(first && { first: found as ChainFault }),
        cut: [...contradicted, ...[...expected.values()].filter((checkpoint) => !isDropped(checkpoint))],
        lost: [...deferred].filter(([, record]) => !mayBeDropped(retainUntilOf(record) ?? '')).map(([id]) => id),
        pruned: prunedUntil !== undefined,
      };
    },
  };
}

/** The place of an entry: its process and its position in that process's chain. */
function placeOf({ instanceId, sequence }: Pick<Checkpoint, 'instanceId' | 'sequence'>): string {
  return `${sequence} ${instanceId}`;
}
