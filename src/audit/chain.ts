import { hash } from 'node:crypto';
import type { SecurityLevel } from '../protocol/constants.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import { type Timestamp, timestamp } from '../protocol/time.ts';
import { canonicalJson } from './canonical-json.ts';
import type { AuditDraft } from './types.ts';

/** What the first entry of the very first chain points at. */
export const NO_PREVIOUS_HASH = '0'.repeat(64);

const DAY_MS = 86_400_000;

/** Where a chain stands: the next entry has `sequence + 1` and points at `hash`. */
export interface ChainHead {
  readonly sequence: number;
  readonly hash: string;
  /** How long its last entry is retained; absent where there is none. */
  readonly retainUntil?: Timestamp;
}

export function headOf({ compliance: { sequence, hash, retainUntil } }: AuditEntry): ChainHead {
  return { sequence, hash, retainUntil };
}

/** What every entry of a process has in common. */
export interface ChainIdentity {
  readonly securityLevel: SecurityLevel;
  /** Names the process: another one for each start. */
  readonly instanceId: string;
  readonly retentionDays: number;
}

/** An entry that has no place in the chain yet. */
export type UnsealedEntry = Omit<AuditEntry, 'compliance'> & {
  readonly compliance: Omit<AuditEntry['compliance'], 'sequence' | 'previousHash' | 'hash'>;
};

/** What a draft says, by whom, when and for how long. */
export function unsealed(
  draft: AuditDraft,
  { securityLevel, instanceId, retentionDays }: ChainIdentity,
  { id, now }: { readonly id: string; readonly now: number },
): UnsealedEntry {
  const retainUntil = timestamp(now + retentionDays * DAY_MS);
  return { id, timestamp: timestamp(now), ...draft, compliance: { securityLevel, instanceId, retainUntil } };
}

/**
 * Puts an entry next in a chain. It is retained at least as long as the one before it, whatever the clock says: what retention
 * drops of a chain is always its beginning.
 */
export function seal({ compliance, ...rest }: UnsealedEntry, head: ChainHead): AuditEntry {
  const { sequence, hash } = head;
  const { securityLevel, instanceId } = compliance;
  const retainUntil = later(compliance.retainUntil, head.retainUntil);
  const linked = { securityLevel, instanceId, sequence: sequence + 1, previousHash: hash, retainUntil };
  return { ...rest, compliance: { ...linked, hash: digest({ ...rest, compliance: linked }) } };
}

function later(a: Timestamp, b: Timestamp | undefined): Timestamp {
  return b !== undefined && b > a ? b : a;
}

/** SHA-256 over the canonical JSON of an entry without its hash, lower-case hex. */
export function hashOf(entry: AuditEntry): string {
  const { hash: _, ...compliance } = entry.compliance;
  return digest({ ...entry, compliance });
}

function digest(entry: unknown): string {
  return hash('sha256', canonicalJson(entry), 'hex');
}
