import type { AuditEntry } from './audit-messages.ts';
import { duplicateMember, serialized } from './json-text.ts';
import { LATEST_INSTANT, type Timestamp, timestamp as timestampOf } from './time.ts';

/** Id and time of an entry from its storage key, used when the entry itself is damaged. */
export interface EntryKey {
  readonly id: string;
  readonly timestamp: Timestamp;
}

/**
 * Returns a stored value as an entry. The store may hold anything. A damaged value becomes a placeholder without a hash,
 * so that the trail can still be paged and the verifier reports it.
 */
export function asAuditEntry(value: unknown, known: () => EntryKey): AuditEntry {
  return isAuditEntry(value) ? value : placeholderFor(value, known());
}

/** Parses the JSON of an entry. JSON with a duplicate member, or nested too deeply, is damaged (see {@link asAuditEntry}). */
export function parseAuditEntry(json: string, known: () => EntryKey): AuditEntry {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {}
  const text = serialized(value);
  const isSound = text !== undefined && (text === json || duplicateMember(json, value) === undefined);
  return isSound ? asAuditEntry(value, known) : placeholderFor(value, known());
}

function isAuditEntry(value: unknown): value is AuditEntry {
  if (!isObject(value)) return false;
  const { id, timestamp, action, categories, changes, outcome, identity, tenant, source, dropped, compliance } = value;
  return (
    [id, timestamp, action, outcome].every(isText) &&
    Array.isArray(categories) &&
    categories.every(isText) &&
    Array.isArray(changes) &&
    isObject(identity) &&
    [tenant, source].every((part) => part === undefined || isObject(part)) &&
    (dropped === undefined || isDropped(dropped)) &&
    isObject(compliance) &&
    [compliance.instanceId, compliance.previousHash, compliance.hash, compliance.retainUntil].every(isText) &&
    (compliance.previousRetainUntil === undefined || isText(compliance.previousRetainUntil)) &&
    (compliance.signature === undefined || isSignature(compliance.signature)) &&
    typeof compliance.sequence === 'number'
  );
}

function isSignature(value: unknown): boolean {
  return isObject(value) && isText(value.keyId) && isText(value.value);
}

function isDropped(value: unknown): boolean {
  if (!isObject(value) || !isText(value.until) || !Array.isArray(value.chains)) return false;
  return value.chains.every(
    (chain) => isObject(chain) && isText(chain.instanceId) && isText(chain.hash) && typeof chain.sequence === 'number',
  );
}

function placeholderFor(value: unknown, known: EntryKey): AuditEntry {
  const { id, timestamp, compliance } = isObject(value) ? value : {};
  const { instanceId, sequence } = isObject(compliance) ? compliance : {};
  return {
    id: isText(id) ? id : known.id,
    timestamp: isText(timestamp) ? timestamp : known.timestamp,
    action: 'status',
    categories: [],
    changes: [],
    outcome: 'failed',
    identity: {},
    reason: 'this entry cannot be read',
    compliance: {
      securityLevel: 'basic',
      instanceId: isText(instanceId) ? instanceId : 'unknown',
      sequence: typeof sequence === 'number' ? sequence : 0,
      previousHash: '',
      hash: '',
      // Retention never deletes a damaged entry.
      retainUntil: timestampOf(LATEST_INSTANT),
    },
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
