import * as semconv from '../otel/semconv.ts';
import { type LogRecord, SEVERITY } from '../otel/telemetry.ts';
import type { AuditEntry } from '../wire/audit-messages.ts';
import { given, isObject } from '../wire/json-text.ts';
import type { ChainHead } from './chain.ts';
import type { RecordedEntry } from './types.ts';
import type { Checkpoint } from './verify.ts';

/** Every field is an attribute, for searches. The record of a deferred entry has no place in the chain. */
export function auditRecord(entry: RecordedEntry, instanceId?: string): LogRecord {
  const { identity, source, compliance } = entry;
  return {
    eventName: semconv.EVENT_AUDIT,
    timestamp: new Date(entry.timestamp),
    ...(entry.outcome === 'denied' || entry.outcome === 'failed' ? SEVERITY.WARN : SEVERITY.INFO),
    body: [entry.action, entry.categories.join(', '), entry.outcome].filter((part) => part !== '').join(' '),
    attributes: given({
      [semconv.ATTR_AUDIT_ID]: entry.id,
      [semconv.ATTR_AUDIT_TIMESTAMP]: entry.timestamp,
      [semconv.ATTR_ACTION]: entry.action,
      [semconv.ATTR_OUTCOME]: entry.outcome,
      [semconv.ATTR_CATEGORY_NAMES]: entry.categories,
      [semconv.ATTR_AUDIT_CHANGES]: entry.changes,
      [semconv.ATTR_AUTH_METHOD]: identity.method,
      [semconv.ATTR_USER_ID]: identity.userId,
      [semconv.ATTR_CLIENT_ID]: identity.clientId,
      [semconv.ATTR_AUTH_SCOPES]: identity.scopes,
      [semconv.ATTR_SESSION_ID]: identity.sessionId,
      [semconv.ATTR_TENANT_ID]: entry.tenant?.id,
      [semconv.ATTR_TENANT_NAME]: entry.tenant?.name,
      [semconv.ATTR_REQUEST_ID]: entry.requestId,
      [entry.outcome === 'denied' ? semconv.ATTR_REASON : semconv.ATTR_CONTROL_REASON]: entry.reason,
      [semconv.ATTR_AUDIT_BUDGET]: entry.otelrdcp_budget,
      [semconv.ATTR_AUDIT_LEVEL]: entry.otelrdcp_level,
      [semconv.ATTR_AUDIT_ONLY]: entry.otelrdcp_only,
      [semconv.ATTR_AUDIT_ACTIVATION]: entry.otelrdcp_activation,
      [semconv.ATTR_AUDIT_TAIL]: entry.otelrdcp_tail,
      [semconv.ATTR_AUDIT_APPROVAL]: entry.otelrdcp_approval,
      [semconv.ATTR_CLIENT_ADDRESS]: source?.address,
      [semconv.ATTR_USER_AGENT_ORIGINAL]: source?.userAgent,
      [semconv.ATTR_ERROR_TYPE]: entry.error,
      [semconv.ATTR_AUDIT_COUNT]: entry.count,
      [semconv.ATTR_AUDIT_DROPPED]: entry.dropped,
      [semconv.ATTR_SECURITY_LEVEL]: compliance.securityLevel,
      [semconv.ATTR_INSTANCE_ID]: instanceId ?? compliance.instanceId,
      [semconv.ATTR_AUDIT_CHAIN_ID]: compliance.instanceId,
      [semconv.ATTR_AUDIT_SEQUENCE]: compliance.sequence,
      [semconv.ATTR_AUDIT_PREVIOUS_HASH]: compliance.previousHash,
      [semconv.ATTR_AUDIT_PREVIOUS_RETAIN_UNTIL]: compliance.previousRetainUntil,
      [semconv.ATTR_AUDIT_HASH]: compliance.hash,
      [semconv.ATTR_AUDIT_RETAIN_UNTIL]: compliance.retainUntil,
      [semconv.ATTR_AUDIT_SIGNATURE]: compliance.signature && Object.values(compliance.signature).join(':'),
    }),
  };
}

/** The end of the chain. A copy kept elsewhere proves later that the newest entries were cut off. */
export function checkpointRecord(
  chainId: string,
  instanceId: string,
  { sequence, hash, retainUntil }: ChainHead,
): LogRecord {
  return {
    eventName: semconv.EVENT_AUDIT_CHECKPOINT,
    ...SEVERITY.INFO,
    body: `audit checkpoint at entry ${sequence}`,
    attributes: given({
      [semconv.ATTR_INSTANCE_ID]: instanceId,
      [semconv.ATTR_AUDIT_CHAIN_ID]: chainId,
      [semconv.ATTR_AUDIT_SEQUENCE]: sequence,
      [semconv.ATTR_AUDIT_HASH]: hash,
      [semconv.ATTR_AUDIT_RETAIN_UNTIL]: retainUntil,
    }),
  };
}

type Attributes = Readonly<Record<string, unknown>>;

export interface ExportedRecords {
  readonly checkpoints: Checkpoint[];
  /** Records of deferred entries by entry id, exported before they were part of a chain. */
  readonly waiting: Map<string, Attributes>;
}

/** Adds the entries of OTLP (`resourceLogs`), log records with `attributes`, or an array of either. @param service limits OTLP to its `service.name` */
export function addExported(value: unknown, { checkpoints, waiting }: ExportedRecords, service?: string): void {
  for (const attributes of attributesIn(value, service)) {
    const instanceId = attributes[semconv.ATTR_AUDIT_CHAIN_ID];
    const sequence = attributes[semconv.ATTR_AUDIT_SEQUENCE];
    const hash = attributes[semconv.ATTR_AUDIT_HASH];
    const retainUntil = attributes[semconv.ATTR_AUDIT_RETAIN_UNTIL];
    const id = attributes[semconv.ATTR_AUDIT_ID];
    if (typeof instanceId === 'string' && typeof sequence === 'number' && typeof hash === 'string') {
      checkpoints.push({ instanceId, sequence, hash, ...(typeof retainUntil === 'string' && { retainUntil }) });
    } else if (typeof id === 'string') waiting.set(id, attributes);
  }
}

export function retainUntilOf(attributes: Attributes): string | undefined {
  const retainUntil = attributes[semconv.ATTR_AUDIT_RETAIN_UNTIL];
  return typeof retainUntil === 'string' ? retainUntil : undefined;
}

/** Names of ours that do not begin with `rdcp.`. */
const OURS: ReadonlySet<string> = new Set([
  semconv.ATTR_USER_ID,
  semconv.ATTR_SESSION_ID,
  semconv.ATTR_CLIENT_ADDRESS,
  semconv.ATTR_USER_AGENT_ORIGINAL,
  semconv.ATTR_ERROR_TYPE,
]);

/** Compares an entry with its deferred record, which had no place in the chain. Attributes added on the way are ignored. */
export function saysWhatWasExported(entry: AuditEntry, exported: Attributes): boolean {
  const { securityLevel, instanceId, retainUntil } = entry.compliance;
  const expected = auditRecord({ ...entry, compliance: { securityLevel, instanceId, retainUntil } }).attributes;
  const names = new Set([...Object.keys(expected), ...Object.keys(exported)]);
  return [...names]
    .filter((name) => (name.startsWith('rdcp.') && name !== semconv.ATTR_INSTANCE_ID) || OURS.has(name))
    .every((name) => JSON.stringify(expected[name]) === JSON.stringify(exported[name]));
}

function* attributesIn(value: unknown, service: string | undefined): Generator<Attributes> {
  if (Array.isArray(value)) {
    for (const each of value) yield* attributesIn(each, service);
    return;
  }
  if (!isObject(value)) return;
  for (const { resource, scopeLogs } of objects(value.resourceLogs)) {
    const name = isObject(resource) ? attributesOf(resource.attributes)['service.name'] : undefined;
    if (service !== undefined && name !== service) continue;
    for (const { logRecords } of objects(scopeLogs)) {
      for (const { attributes } of objects(logRecords)) yield attributesOf(attributes);
    }
  }
  if ('attributes' in value) yield attributesOf(value.attributes);
}

/** OTLP has a list of keys with typed values; an SDK record has an object. */
function attributesOf(value: unknown): Attributes {
  if (!Array.isArray(value)) return isObject(value) ? value : {};
  return Object.fromEntries(objects(value).map(({ key, value: typed }) => [String(key), plain(typed)]));
}

/** Converts an OTLP AnyValue. Its JSON form writes 64-bit integers as strings. */
function plain(typed: unknown): unknown {
  if (!isObject(typed)) return undefined;
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue } = typed;
  if (intValue !== undefined) return Number(intValue);
  if (isObject(arrayValue)) return objects(arrayValue.values).map(plain);
  if (isObject(kvlistValue)) return attributesOf(kvlistValue.values);
  return stringValue ?? boolValue ?? doubleValue;
}

function objects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
