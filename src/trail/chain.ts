import { hash } from 'node:crypto';
import type { AuditEntry } from '../wire/audit-messages.ts';
import type { SecurityLevel } from '../wire/constants.ts';
import { type Timestamp, timestamp } from '../wire/time.ts';
import type { AuditDraft } from './types.ts';

export const NO_PREVIOUS_HASH = '0'.repeat(64);

const DAY_MS = 86_400_000;
/** How far the clocks of processes that share a trail may differ. */
const CLOCKS_DIFFER_MS = DAY_MS;

/** The end of a chain: the next entry has `sequence + 1` and links to `hash`. */
export interface ChainHead {
  readonly sequence: number;
  readonly hash: string;
  /** How long the chain up to here is retained; absent for an empty chain. */
  readonly retainUntil?: Timestamp;
}

/** Retention drops a chain from its beginning: an entry stays as long as any `before` it. */
export function headOf({ compliance }: AuditEntry, before?: ChainHead): ChainHead {
  const { sequence, hash, retainUntil } = compliance;
  return { sequence, hash, retainUntil: later(retainUntil, before?.retainUntil) };
}

export interface ChainIdentity {
  readonly securityLevel: SecurityLevel;
  /** Identifies the process; new at each start. */
  readonly instanceId: string;
  readonly retentionDays: number;
}

export type UnsealedEntry = Omit<AuditEntry, 'compliance'> & {
  readonly compliance: Pick<AuditEntry['compliance'], 'securityLevel' | 'instanceId' | 'retainUntil'>;
};

/** Adds id, time and retention. @param times `retainFrom`, in milliseconds since the epoch. @default now */
export function unsealed(
  draft: AuditDraft,
  { securityLevel, instanceId, retentionDays }: ChainIdentity,
  { id, now, retainFrom = now }: { readonly id: string; readonly now: number; readonly retainFrom?: number },
): UnsealedEntry {
  const retainUntil = timestamp(retainFrom + retentionDays * DAY_MS);
  return { id, timestamp: timestamp(now), ...draft, compliance: { securityLevel, instanceId, retainUntil } };
}

/** When the previous entry may be dropped by then, this one records how long that was retained. */
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

/** Whether an entry still matches its hash. An altered entry is kept, as evidence. */
export function isIntact(entry: AuditEntry): boolean {
  return hashOf(entry) === entry.compliance.hash;
}

/** Whether an entry may go by the present retention: a slow clock may have made `retainUntil` too early. A timestamp in the future counts as ended. */
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
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  const memberOf = value as Readonly<Record<string, unknown>>;
  let members = '';
  for (const name of Object.keys(value).sort()) {
    const member = memberOf[name];
    if (member !== undefined) members += `${members && ','}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}
