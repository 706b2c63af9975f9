import * as semconv from '../otel/semconv.ts';
import type { AuditEntry } from '../wire/audit-messages.ts';
import { isObject } from '../wire/json-text.ts';
import { auditRecord } from './log-record.ts';
import type { Checkpoint } from './verify.ts';

type Attributes = Readonly<Record<string, unknown>>;

export interface ExportedRecords {
  /** One for each record whose entry is part of a chain. */
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
