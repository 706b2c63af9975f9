import { z } from 'zod';
import type { AuditEntry } from './audit-messages.ts';
import { duplicateMember, isObject, parsedJson, serialized } from './json-text.ts';
import { LATEST_INSTANT, timestamp as timestampOf } from './time.ts';

/** Id and time of an entry from its storage key, used when the entry itself is damaged. */
export type EntryKey = Pick<AuditEntry, 'id' | 'timestamp'>;

/** The store may hold anything: a damaged value becomes a placeholder without a hash, so that the trail can be paged and verified. */
export function asAuditEntry(value: unknown, known: () => EntryKey): AuditEntry {
  return auditEntry.safeParse(value).success ? (value as AuditEntry) : placeholderFor(value, known());
}

/** Parses the JSON of an entry. JSON with a duplicate member, or nested too deeply, is damaged (see {@link asAuditEntry}). */
export function parseAuditEntry(json: string, known: () => EntryKey): AuditEntry {
  const value = parsedJson(json);
  const text = serialized(value);
  const isSound = text !== undefined && (text === json || duplicateMember(json) === undefined);
  return isSound ? asAuditEntry(value, known) : placeholderFor(value, known());
}

const text = z.string();
const anyObject = z.looseObject({});

/** The fields of an entry that its readers rely on. */
const auditEntry = z.looseObject({
  id: text,
  timestamp: text,
  action: text,
  outcome: text,
  categories: z.array(text),
  changes: z.array(z.unknown()),
  identity: anyObject,
  tenant: anyObject.optional(),
  source: anyObject.optional(),
  dropped: z
    .looseObject({
      until: text,
      chains: z.array(z.looseObject({ instanceId: text, hash: text, sequence: z.number() })),
    })
    .optional(),
  compliance: z.looseObject({
    instanceId: text,
    sequence: z.number(),
    previousHash: text,
    hash: text,
    retainUntil: text,
    previousRetainUntil: text.optional(),
    signature: z.looseObject({ keyId: text, value: text }).optional(),
  }),
});

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

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
