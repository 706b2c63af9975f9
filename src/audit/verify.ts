import { asAuditEntry } from '../protocol/audit-entry.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import type { Timestamp } from '../protocol/time.ts';
import { type ChainHead, hashOf, NO_PREVIOUS_HASH } from './chain.ts';

/** Something wrong with a trail. */
export interface ChainFault {
  readonly entry: AuditEntry;
  /**
   * `hash`: the entry was changed. `sequence`, `link`: one before it was taken out, put in, moved or sealed anew. `start`: the
   * trail begins with it, and nothing tells that retention dropped what came before. `checkpoint`: it was sealed anew, with
   * all that follows in its chain.
   */
  readonly problem: 'hash' | 'sequence' | 'link' | 'start' | 'checkpoint';
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
  /** Checkpoints that their chain does not reach: its end was cut off. */
  readonly cut: readonly Checkpoint[];
  /** Retention has dropped what came before. */
  readonly pruned: boolean;
}

export interface VerifierOptions {
  /** Where chains stood earlier. Without any, a trail whose end was cut off looks whole. */
  readonly checkpoints?: readonly Checkpoint[];
  /** Take it for granted that what is missing before the oldest entry was dropped by retention. @default false */
  readonly assumeRetention?: boolean;
}

/** Takes entries one after the other. */
export interface Verifier {
  see(entry: AuditEntry): void;
  finish(): Verification;
}

/** A chain, as far as it was walked. */
interface Walked {
  readonly head: Checkpoint;
  /** The oldest entry that was seen, and where. */
  oldest: AuditEntry;
  position: number;
  /** What the next older one must be; `undefined` where the entry that says so was changed. */
  sequence: number | undefined;
  hash: string | undefined;
}

/**
 * Checks a whole trail, newest entry first, as stores and servers give it out: the hash of each entry, the unbroken sequence and
 * links of each process's chain, and that each chain begins at an entry that is there. Its memory grows with the number
 * of processes, not of entries.
 */
export function createVerifier({ checkpoints = [], assumeRetention = false }: VerifierOptions = {}): Verifier {
  const chains = new Map<string, Walked>();
  /** Chains that begin at an entry which is still to come, by its hash. */
  const awaited = new Map<string, Walked[]>();
  const byEntry = new Map(checkpoints.map((checkpoint) => [place(checkpoint), checkpoint]));
  let position = 0;
  let faults = 0;
  let first: (ChainFault & { readonly position: number }) | undefined;
  /** When retention dropped entries last. */
  let pruned: Timestamp | undefined;
  let oldest: AuditEntry | undefined;

  function fault(found: ChainFault & { readonly position: number }): void {
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

  /** The target was there when the chain began: what retention dropped before that is no excuse for it. */
  function expectTarget(chain: Walked, hash: string): void {
    if (hash !== NO_PREVIOUS_HASH && pruned === undefined) awaited.set(hash, [...(awaited.get(hash) ?? []), chain]);
  }

  function see(given: AuditEntry): void {
    const entry = asAuditEntry(given, () => ({ id: 'unknown', timestamp: 'unknown' }));
    position += 1;
    oldest = entry;
    const { instanceId, sequence, previousHash, hash, retainUntil } = entry.compliance;
    const intact = hashOf(entry) === hash;
    const newer = chains.get(instanceId);
    if (!intact) {
      fault({ entry, position, problem: 'hash', message: 'it is not what was sealed' });
    } else {
      if (newer !== undefined) compare(newer, entry);
      const checkpoint = byEntry.get(place({ instanceId, sequence }));
      if (checkpoint !== undefined && checkpoint.hash !== hash) {
        fault({ entry, position, problem: 'checkpoint', message: 'it is not the entry that the checkpoint tells of' });
      }
      if (entry.action === 'prune' && (pruned === undefined || entry.timestamp > pruned)) pruned = entry.timestamp;
    }
    awaited.delete(hash);
    const before = newer?.sequence;
    const walked: Walked = {
      head: newer?.head ?? { instanceId, sequence, hash, retainUntil },
      oldest: entry,
      position,
      sequence: intact ? sequence - 1 : before === undefined ? undefined : before - 1,
      hash: intact ? previousHash : undefined,
    };
    chains.set(instanceId, walked);
    if (intact && sequence === 1) expectTarget(walked, previousHash);
  }

  /** A chain begins with its first entry, at one that is there or at none; retention alone may have taken those away. */
  function checkBeginnings(): void {
    if (assumeRetention && oldest?.compliance.previousHash !== NO_PREVIOUS_HASH) return;
    for (const { oldest: entry, position: at, sequence } of chains.values()) {
      if (pruned !== undefined || sequence === undefined || sequence <= 0) continue;
      const message = 'the entries before it are missing, and no entry tells that retention dropped them';
      fault({ entry, position: at, problem: 'start', message });
    }
    for (const { oldest: entry, position: at } of [...awaited.values()].flat()) {
      fault({ entry, position: at, problem: 'link', message: 'the entry that its chain begins at is missing' });
    }
  }

  return {
    see,
    finish() {
      checkBeginnings();
      const heads = [...chains.values()].map(({ head }) => head);
      const cut = checkpoints.filter((checkpoint) => {
        const head = chains.get(checkpoint.instanceId)?.head;
        if (head !== undefined) return head.sequence < checkpoint.sequence;
        // A chain of which nothing is left may have been dropped as a whole.
        return pruned === undefined || (checkpoint.retainUntil !== undefined && checkpoint.retainUntil > pruned);
      });
      const { position: _, ...found } = first ?? { position: 0 };
      return {
        entries: position,
        heads,
        faults,
        ...(first && { first: found as ChainFault }),
        cut,
        pruned: pruned !== undefined,
      };
    },
  };
}

function place({ instanceId, sequence }: Pick<Checkpoint, 'instanceId' | 'sequence'>): string {
  return `${instanceId}:${sequence}`;
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
