import { createHash } from 'node:crypto';
import type { AuditDraft } from '../control/types.ts';
import type { SecurityLevel } from '../protocol/constants.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import { timestamp } from '../protocol/time.ts';
import { canonicalJson } from './canonical-json.ts';

/** What the first entry of the very first chain points at. */
export const NO_PREVIOUS_HASH = '0'.repeat(64);

const DAY_MS = 86_400_000;

/** Where a chain stands: the next entry has `sequence + 1` and points at `hash`. */
export interface ChainHead {
  readonly sequence: number;
  readonly hash: string;
}

/** What every entry of a process has in common. */
export interface ChainIdentity {
  readonly securityLevel: SecurityLevel;
  readonly instanceId: string;
  readonly retentionDays: number;
}

/** SHA-256 over the canonical JSON of an entry without its hash, lower-case hex. */
export function hashOf(entry: AuditEntry): string {
  const { hash: _, ...compliance } = entry.compliance;
  return createHash('sha256')
    .update(canonicalJson({ ...entry, compliance }))
    .digest('hex');
}

/** Makes the next entry of a chain out of a draft. */
export function seal(
  draft: AuditDraft,
  head: ChainHead,
  { securityLevel, instanceId, retentionDays }: ChainIdentity,
  { id, now }: { readonly id: string; readonly now: number },
): AuditEntry {
  const compliance = {
    securityLevel,
    instanceId,
    sequence: head.sequence + 1,
    previousHash: head.hash,
    hash: '',
    retainUntil: timestamp(now + retentionDays * DAY_MS),
  };
  const open: AuditEntry = { id, timestamp: timestamp(now), ...draft, compliance };
  return { ...open, compliance: { ...compliance, hash: hashOf(open) } };
}

/** The first thing wrong with a trail. */
export interface ChainFault {
  readonly entry: AuditEntry;
  readonly problem: 'hash' | 'sequence' | 'link';
  readonly message: string;
}

/**
 * Checks entries, oldest first: each one's hash, and within each process's chain the unbroken sequence and links. The
 * oldest entry that is left of a chain may point at one that retention has dropped.
 */
export function findFault(entries: Iterable<AuditEntry>): ChainFault | undefined {
  const heads = new Map<string, ChainHead>();
  for (const entry of entries) {
    const { instanceId, sequence, previousHash, hash } = entry.compliance;
    if (hashOf(entry) !== hash) return { entry, problem: 'hash', message: 'the entry is not what was sealed' };
    const head = heads.get(instanceId);
    if (head !== undefined && sequence !== head.sequence + 1) {
      return { entry, problem: 'sequence', message: `entry ${head.sequence + 1} of its chain should stand here` };
    }
    if (head !== undefined && previousHash !== head.hash) {
      return { entry, problem: 'link', message: 'the entry does not point at the one before it' };
    }
    heads.set(instanceId, { sequence, hash });
  }
  return undefined;
}
