import * as semconv from '../otel/semconv.ts';
import { type LogRecord, SEVERITY } from '../otel/telemetry.ts';
import { given } from '../wire/json-text.ts';
import type { ChainHead } from './chain.ts';
import type { RecordedEntry } from './types.ts';

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
