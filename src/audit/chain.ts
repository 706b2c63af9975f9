import { hash } from 'node:crypto';
import type { SecurityLevel } from '../protocol/constants.ts';
import type { AuditEntry } from '../protocol/messages.ts';
import { type Timestamp, timestamp } from '../protocol/time.ts';
import type { AuditDraft } from './types.ts';

/** What the first entry of the very first chain points at. */
export const NO_PREVIOUS_HASH = '0'.repeat(64);

const DAY_MS = 86_400_000;
/** By how much the clocks of processes that share a trail may differ. */
const CLOCKS_DIFFER_MS = DAY_MS;

/** Where a chain stands: the next entry has `sequence + 1` and points at `hash`. */
export interface ChainHead {
  readonly sequence: number;
  readonly hash: string;
  /** Until when the chain is retained up to here; absent where it has no entry. */
  readonly retainUntil?: Timestamp;
}

/**
 * Where a chain stands after an entry.
 * @param before where it stood: retention drops the beginning of a chain, so an entry stays as long as any before it
 */
export function headOf({ compliance }: AuditEntry, before?: ChainHead): ChainHead {
  const { sequence, hash, retainUntil } = compliance;
  return { sequence, hash, retainUntil: later(retainUntil, before?.retainUntil) };
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
  readonly compliance: Pick<AuditEntry['compliance'], 'securityLevel' | 'instanceId' | 'retainUntil'>;
};

/**
 * What a draft says, by whom, when and for how long.
 * @param times `retainFrom`: where retention begins, in milliseconds since the epoch. @default now
 */
export function unsealed(
  draft: AuditDraft,
  { securityLevel, instanceId, retentionDays }: ChainIdentity,
  { id, now, retainFrom = now }: { readonly id: string; readonly now: number; readonly retainFrom?: number },
): UnsealedEntry {
  const retainUntil = timestamp(retainFrom + retentionDays * DAY_MS);
  return { id, timestamp: timestamp(now), ...draft, compliance: { securityLevel, instanceId, retainUntil } };
}

/**
 * Puts an entry next in a chain. Where the one before it may be gone by then, it says how long that was retained.
 * @param now milliseconds since the epoch. @default when the entry was written
 */
export function seal(
  { compliance, ...rest }: UnsealedEntry,
  head: ChainHead,
  now = Date.parse(rest.timestamp),
): AuditEntry {
  const { sequence, hash, retainUntil: previousRetainUntil } = head;
  const { securityLevel, instanceId, retainUntil } = compliance;
  const mayBeGone =
    previousRetainUntil !== undefined && (sequence === 0 || Date.parse(previousRetainUntil) < now + CLOCKS_DIFFER_MS);
  const linked = {
    format: 2 as const,
    securityLevel,
    instanceId,
    sequence: sequence + 1,
    previousHash: hash,
    ...(mayBeGone && { previousRetainUntil }),
    retainUntil,
  };
  return { ...rest, compliance: { ...linked, hash: digest({ ...rest, compliance: linked }) } };
}

function later(a: Timestamp, b: Timestamp | undefined): Timestamp {
  return b !== undefined && b > a ? b : a;
}

/** SHA-256 over the canonical JSON of an entry without its hash and signature, lower-case hex. */
export function hashOf(entry: AuditEntry): string {
  const { hash: _, signature: __, ...compliance } = entry.compliance;
  return digest({ ...entry, compliance });
}

/** Whether an entry is what was sealed. Where it is not, it is kept: it tells of whoever changed it. */
export function isIntact(entry: AuditEntry): boolean {
  return hashOf(entry) === entry.compliance.hash;
}

/**
 * Whether as much time has passed since an entry was written as entries are kept now. Its `retainUntil` may be over before
 * that, when it was computed from a clock that was behind; a time of writing that is still to come says nothing.
 */
export function hasEnded({ timestamp: written }: AuditEntry, now: number, retentionDays: number): boolean {
  const at = Date.parse(written);
  return at > now || at + retentionDays * DAY_MS <= now;
}

function digest(entry: unknown): string {
  return hash('sha256', canonicalJson(entry), 'hex');
}

/**
 * Canonical JSON (RFC 8785) of a JSON value. In ECMAScript its number and string forms are `JSON.stringify`'s own
 * (sections 3.2.2.2 and 3.2.2.3), and the order of properties is that of UTF-16 code units (section 3.2.3), which is how
 * strings compare.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  // Strings that grow: every change of state is sealed, and lists of the parts cost as much again as the rest.
  let members = '';
  if (Array.isArray(value)) {
    for (const item of value) members += `${members === '' ? '' : ','}${canonicalJson(item ?? null)}`;
    return `[${members}]`;
  }
  for (const name of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, name);
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${canonicalJson(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** What stands in JSON as it is: nearly every text of an audit entry. To look is faster than to have it escaped. */
const PLAIN = /^[ !#-[\]-~]*$/;
