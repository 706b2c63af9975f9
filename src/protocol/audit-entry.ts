import { namesMemberTwice } from './duplicate-names.ts';
import type { AuditEntry } from './messages.ts';
import { LATEST_INSTANT, type Timestamp, timestamp as timestampOf } from './time.ts';

/** What is known of an entry besides what it says itself. */
export interface KnownOfEntry {
  readonly id: string;
  readonly timestamp: Timestamp;
}

/**
 * A value that should be an entry, as one. Whoever may write the store can leave anything there: what cannot be read as an
 * entry becomes one without a hash, so that the trail can still be paged, and its verifier names it.
 */
export function asAuditEntry(value: unknown, known: () => KnownOfEntry): AuditEntry {
  return isAuditEntry(value) ? value : remainsOf(value, known());
}

/** {@link asAuditEntry} of its JSON, as stores write it: no member of it is named twice. */
export function parseAuditEntry(json: string, known: () => KnownOfEntry): AuditEntry {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {}
  // What is written as it was read names nothing twice, and that is the faster question.
  const ambiguous = value !== undefined && JSON.stringify(value) !== json && namesMemberTwice(json);
  return ambiguous ? remainsOf(value, known()) : asAuditEntry(value, known);
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
    (dropped === undefined || tellsOfDropped(dropped)) &&
    isObject(compliance) &&
    [compliance.instanceId, compliance.previousHash, compliance.hash, compliance.retainUntil].every(isText) &&
    (compliance.format === undefined || compliance.format === 2) &&
    (compliance.previousRetainUntil === undefined || isText(compliance.previousRetainUntil)) &&
    (compliance.signature === undefined || isSignature(compliance.signature)) &&
    typeof compliance.sequence === 'number'
  );
}

function isSignature(value: unknown): boolean {
  return isObject(value) && isText(value.keyId) && isText(value.value);
}

function tellsOfDropped(value: unknown): boolean {
  if (!isObject(value) || !isText(value.until) || !Array.isArray(value.chains)) return false;
  return value.chains.every(
    (chain) => isObject(chain) && isText(chain.instanceId) && isText(chain.hash) && typeof chain.sequence === 'number',
  );
}

function remainsOf(value: unknown, known: KnownOfEntry): AuditEntry {
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
      // Retention does not take away what somebody left.
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
