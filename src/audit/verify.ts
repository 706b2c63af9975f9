import type { AuditEntry } from '../protocol/messages.ts';
import { type ChainHead, hashOf, NO_PREVIOUS_HASH } from './chain.ts';

/** The first thing wrong with a trail. */
export interface ChainFault {
  readonly entry: AuditEntry;
  /** `hash`: the entry was changed. `sequence`, `link`: one before it was taken out, put in or moved. */
  readonly problem: 'hash' | 'sequence' | 'link';
  readonly message: string;
}

/**
 * Checks a whole trail, in the order in which it was written: the hash of each entry, the unbroken sequence and links of
 * each process's chain, and that a chain which begins amid the trail begins at an entry of it. The first entry that is
 * left of a chain may point at one that retention has dropped. Entries cut off at the end show only against a checkpoint.
 */
export function verify(entries: Iterable<AuditEntry>): ChainFault | undefined {
  const heads = new Map<string, ChainHead>();
  /** Hashes of entries that are there, or were: several chains may begin at the same dropped one. */
  const mentioned = new Set<string>([NO_PREVIOUS_HASH]);
  for (const entry of entries) {
    const { instanceId, sequence, previousHash, hash } = entry.compliance;
    const head = heads.get(instanceId);
    const fault = (problem: ChainFault['problem'], message: string): ChainFault => ({ entry, problem, message });
    if (hashOf(entry) !== hash) return fault('hash', 'the entry is not what was sealed');
    if (head !== undefined) {
      if (sequence !== head.sequence + 1) {
        return fault('sequence', `entry ${head.sequence + 1} of its chain should stand here`);
      }
      if (previousHash !== head.hash) return fault('link', 'the entry does not point at the one before it');
    } else if (sequence === 1 && heads.size > 0 && !mentioned.has(previousHash)) {
      return fault('link', 'the entry that its chain begins at is missing');
    }
    heads.set(instanceId, { sequence, hash });
    mentioned.add(hash).add(previousHash);
  }
  return undefined;
}
