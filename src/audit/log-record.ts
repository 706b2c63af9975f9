import {
  ATTR_ACTION,
  ATTR_AUDIT_BUDGET,
  ATTR_AUDIT_CHANGES,
  ATTR_AUDIT_COUNT,
  ATTR_AUDIT_DROPPED,
  ATTR_AUDIT_HASH,
  ATTR_AUDIT_ID,
  ATTR_AUDIT_PREVIOUS_HASH,
  ATTR_AUDIT_PREVIOUS_RETAIN_UNTIL,
  ATTR_AUDIT_RETAIN_UNTIL,
  ATTR_AUDIT_SEQUENCE,
  ATTR_AUDIT_SIGNATURE,
  ATTR_AUDIT_TAIL,
  ATTR_AUDIT_TIMESTAMP,
  ATTR_AUTH_METHOD,
  ATTR_CATEGORY_NAMES,
  ATTR_CLIENT_ADDRESS,
  ATTR_CLIENT_ID,
  ATTR_ERROR_TYPE,
  ATTR_INSTANCE_ID,
  ATTR_OUTCOME,
  ATTR_REASON,
  ATTR_REQUEST_ID,
  ATTR_SCOPES,
  ATTR_SECURITY_LEVEL,
  ATTR_SESSION_ID,
  ATTR_TENANT_ID,
  ATTR_TENANT_NAME,
  ATTR_USER_AGENT_ORIGINAL,
  ATTR_USER_ID,
  EVENT_AUDIT,
  EVENT_AUDIT_CHECKPOINT,
} from '../semconv.ts';
import { type LogRecord, SEVERITY } from '../telemetry.ts';
import type { ChainHead } from './chain.ts';
import type { RecordedEntry } from './types.ts';

/**
 * Converts an audit entry to an OpenTelemetry log record. Every field is an attribute, so that each can be searched.
 * The record of a deferred entry has no chain attributes.
 */
export function auditRecord(entry: RecordedEntry): LogRecord {
  const { identity, source, compliance } = entry;
  return {
    eventName: EVENT_AUDIT,
    ...(entry.outcome === 'denied' ? SEVERITY.WARN : SEVERITY.INFO),
    body: [entry.action, entry.categories.join(', '), entry.outcome].filter((part) => part !== '').join(' '),
    attributes: present({
      [ATTR_AUDIT_ID]: entry.id,
      [ATTR_AUDIT_TIMESTAMP]: entry.timestamp,
      [ATTR_ACTION]: entry.action,
      [ATTR_OUTCOME]: entry.outcome,
      [ATTR_CATEGORY_NAMES]: entry.categories,
      [ATTR_AUDIT_CHANGES]: JSON.stringify(entry.changes),
      [ATTR_AUTH_METHOD]: identity.method,
      [ATTR_USER_ID]: identity.userId,
      [ATTR_CLIENT_ID]: identity.clientId,
      [ATTR_SCOPES]: identity.scopes,
      [ATTR_SESSION_ID]: identity.sessionId,
      [ATTR_TENANT_ID]: entry.tenant?.id,
      [ATTR_TENANT_NAME]: entry.tenant?.name,
      [ATTR_REQUEST_ID]: entry.requestId,
      [ATTR_REASON]: entry.reason,
      [ATTR_AUDIT_BUDGET]: entry.otelrdcp_budget === undefined ? undefined : JSON.stringify(entry.otelrdcp_budget),
      [ATTR_AUDIT_TAIL]: entry.otelrdcp_tail === undefined ? undefined : JSON.stringify(entry.otelrdcp_tail),
      [ATTR_CLIENT_ADDRESS]: source?.address,
      [ATTR_USER_AGENT_ORIGINAL]: source?.userAgent,
      [ATTR_ERROR_TYPE]: entry.error,
      [ATTR_AUDIT_COUNT]: entry.count,
      [ATTR_AUDIT_DROPPED]: entry.dropped && JSON.stringify(entry.dropped),
      [ATTR_SECURITY_LEVEL]: compliance.securityLevel,
      [ATTR_INSTANCE_ID]: compliance.instanceId,
      [ATTR_AUDIT_SEQUENCE]: compliance.sequence,
      [ATTR_AUDIT_PREVIOUS_HASH]: compliance.previousHash,
      [ATTR_AUDIT_PREVIOUS_RETAIN_UNTIL]: compliance.previousRetainUntil,
      [ATTR_AUDIT_HASH]: compliance.hash,
      [ATTR_AUDIT_RETAIN_UNTIL]: compliance.retainUntil,
      [ATTR_AUDIT_SIGNATURE]: compliance.signature && Object.values(compliance.signature).join(':'),
    }),
  };
}

/** The end of the chain. A copy kept elsewhere proves later that the newest entries were cut off. */
export function checkpointRecord(instanceId: string, { sequence, hash, retainUntil }: ChainHead): LogRecord {
  return {
    eventName: EVENT_AUDIT_CHECKPOINT,
    ...SEVERITY.INFO,
    body: `audit checkpoint at entry ${sequence}`,
    attributes: present({
      [ATTR_INSTANCE_ID]: instanceId,
      [ATTR_AUDIT_SEQUENCE]: sequence,
      [ATTR_AUDIT_HASH]: hash,
      [ATTR_AUDIT_RETAIN_UNTIL]: retainUntil,
    }),
  };
}

function present(attributes: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(attributes)) if (attributes[name] !== undefined) kept[name] = attributes[name];
  return kept;
}
