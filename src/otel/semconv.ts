// Written by `npm run document` from docs/semconv/.

/** Debug calls while the category is on, emitted or dropped. */
export const METRIC_DEBUG_CALLS = 'rdcp.debug.calls';
/** Calls per second over the rate window, from the first call on. */
export const METRIC_DEBUG_CALL_RATE = 'rdcp.debug.call.rate';
/** Debug calls whose output was dropped, from the first dropped call on. */
export const METRIC_DEBUG_DROPPED = 'rdcp.debug.dropped';
/** 1 while the category is on for everybody, else 0. */
export const METRIC_CATEGORY_ENABLED = 'rdcp.category.enabled';
/** Activations of the category in force, from the first one on. */
export const METRIC_ACTIVATION_COUNT = 'rdcp.activation.count';
/** Recorded calls, once their work has ended: written, forgotten or cut. */
export const METRIC_RECORDER_CALLS = 'rdcp.recorder.calls';
/** Size of the recorded work that has ended, while some is kept. */
export const METRIC_RECORDER_MEMORY_USED = 'rdcp.recorder.memory.used';
/** How far back the recorder reaches without a gap, while something is kept. */
export const METRIC_RECORDER_REACH = 'rdcp.recorder.reach';
/** Tenants that have the category on by a setting of their own, from the first one on. */
export const METRIC_CATEGORY_SETTINGS = 'rdcp.category.settings';
/** Active temporary controls. */
export const METRIC_CONTROL_TEMPORARY = 'rdcp.control.temporary';
/** Control requests. */
export const METRIC_CONTROL_REQUESTS = 'rdcp.control.requests';
/** Duration of control requests. */
export const METRIC_CONTROL_DURATION = 'rdcp.control.duration';
/** Failed reads of a credential source. */
export const METRIC_CREDENTIALS_RELOAD_FAILURES = 'rdcp.credentials.reload.failures';
/** 1 while a condition is active, 0 after it has ended. */
export const METRIC_CONDITION_ACTIVE = 'rdcp.condition.active';
/** Failed writes of the audit trail. */
export const METRIC_AUDIT_FAILURES = 'rdcp.audit.failures';
/** Malformed values of the store and messages of other processes that were dropped, by what they were meant to be. */
export const METRIC_STORE_MALFORMED = 'rdcp.store.malformed';
/** Notifications that were delivered (`rdcp.outcome` is `success`) or dropped (`failed`), the latter with a reason: `queue_full`, `refused`, `gone`, `closed`. */
export const METRIC_NOTIFICATIONS = 'rdcp.notifications';
/** Requests refused because of their credential, and connections whose client certificate TLS refused. */
export const METRIC_AUTH_FAILURES = 'rdcp.auth.failures';
/** Times that a ticket was refused. */
export const METRIC_TICKET_REFUSED = 'rdcp.ticket.refused';

/** Name of the category. */
export const ATTR_CATEGORY_NAME = 'rdcp.category.name';
/** Names of the categories that the record is about. */
export const ATTR_CATEGORY_NAMES = 'rdcp.category.names';
/** Id of the tenant. */
export const ATTR_TENANT_ID = 'rdcp.tenant.id';
/** Display name of the tenant. */
export const ATTR_TENANT_NAME = 'rdcp.tenant.name';
/** True: the call was recorded, and written because its work failed or was slow. */
export const ATTR_RECORDED = 'rdcp.recorded';
/** One value for the records of one piece of work. */
export const ATTR_WORK_ID = 'rdcp.work.id';
/** What the work was and how it ended, in at most 256 characters. A path is without its query. */
export const ATTR_WORK_OUTCOME = 'rdcp.work.outcome';
/** Earlier calls of that work that were dropped for want of room; on the first call that is written. */
export const ATTR_RECORDER_CUT = 'rdcp.recorder.cut';
/** Names of attributes that were cut. */
export const ATTR_ATTRIBUTES_TRUNCATED = 'rdcp.attributes.truncated';
/** Why a call has no attributes. */
export const ATTR_ATTRIBUTES_ERROR = 'rdcp.attributes.error';
/** Number of calls that a budget dropped. */
export const ATTR_DROPPED_COUNT = 'rdcp.dropped.count';
/** When the first of them was dropped, in RFC 3339. */
export const ATTR_DROPPED_SINCE = 'rdcp.dropped.since';
/** Whom a setting is for. */
export const ATTR_SCOPE = 'rdcp.scope';
/** Kind of a setting. */
export const ATTR_SETTING = 'rdcp.setting';
/** Action of a request or entry. */
export const ATTR_ACTION = 'rdcp.action';
/** How it ended: `success`, `partial`, `failed`, `denied`; of `rdcp.recorder.calls` `written`, `forgotten`, `cut`. */
export const ATTR_OUTCOME = 'rdcp.outcome';
/** Why something was refused, dropped or failed: one of a few values. */
export const ATTR_REASON = 'rdcp.reason';
/** What the operator gave; for entries without a request, what happened, in words. */
export const ATTR_CONTROL_REASON = 'rdcp.control.reason';
/** Name of the condition. */
export const ATTR_CONDITION_NAME = 'rdcp.condition.name';
/** What a malformed value of the store was meant to be, where `list` is one of categories. */
export const ATTR_STORE_VALUE = 'rdcp.store.value';
/** Kind of the credential. */
export const ATTR_AUTH_METHOD = 'rdcp.auth.method';
/** Scopes of the credential. */
export const ATTR_AUTH_SCOPES = 'rdcp.auth.scopes';
/** Client of the credential. */
export const ATTR_CLIENT_ID = 'rdcp.client.id';
/** `X-RDCP-Request-ID` of the request. */
export const ATTR_REQUEST_ID = 'rdcp.request.id';
/** The configured level of security. */
export const ATTR_SECURITY_LEVEL = 'rdcp.security.level';
/** `service.instance.id` where the resource has one, else the id of the process in the fleet; a member of the fleet has both, so that its lines and series can be joined. */
export const ATTR_INSTANCE_ID = 'rdcp.instance.id';
/** The chain of hashes that the entry belongs to; a process begins one at its start (`compliance.instanceId`). */
export const ATTR_AUDIT_CHAIN_ID = 'rdcp.audit.chain.id';
/** Id of the entry. */
export const ATTR_AUDIT_ID = 'rdcp.audit.id';
/** Time of the entry, in RFC 3339. */
export const ATTR_AUDIT_TIMESTAMP = 'rdcp.audit.timestamp';
/** Array of objects: category, state before and after. */
export const ATTR_AUDIT_CHANGES = 'rdcp.audit.changes';
/** The activation that was made or ended; values of attributes are masked. */
export const ATTR_AUDIT_ACTIVATION = 'rdcp.audit.activation';
/** `temporary` on a reset that left permanent settings. */
export const ATTR_AUDIT_ONLY = 'rdcp.audit.only';
/** Budget of a control. */
export const ATTR_AUDIT_BUDGET = 'rdcp.audit.budget';
/** Level of a control: the least urgent lines that come out. */
export const ATTR_AUDIT_LEVEL = 'rdcp.audit.level';
/** Beginning of a tail, or what it sent. */
export const ATTR_AUDIT_TAIL = 'rdcp.audit.tail';
/** A change that waits for an approval, or who approved one. */
export const ATTR_AUDIT_APPROVAL = 'rdcp.audit.approval';
/** Requests that the entry stands for, where it is more than one. */
export const ATTR_AUDIT_COUNT = 'rdcp.audit.count';
/** Place in the chain, from 1. */
export const ATTR_AUDIT_SEQUENCE = 'rdcp.audit.sequence';
/** SHA-256 of the entry. */
export const ATTR_AUDIT_HASH = 'rdcp.audit.hash';
/** Hash of the entry before it. */
export const ATTR_AUDIT_PREVIOUS_HASH = 'rdcp.audit.previous_hash';
/** End of the retention of the entry before it. */
export const ATTR_AUDIT_PREVIOUS_RETAIN_UNTIL = 'rdcp.audit.previous_retain_until';
/** End of the entry's retention. */
export const ATTR_AUDIT_RETAIN_UNTIL = 'rdcp.audit.retain_until';
/** Key id and Ed25519 signature, with a colon between them. */
export const ATTR_AUDIT_SIGNATURE = 'rdcp.audit.signature';
/** What a prune dropped. */
export const ATTR_AUDIT_DROPPED = 'rdcp.audit.dropped';

/** An entry of the audit trail, with every field that it has. */
export const EVENT_AUDIT = 'rdcp.audit';
/** The newest place and hash of a chain of the audit trail, once an hour. */
export const EVENT_AUDIT_CHECKPOINT = 'rdcp.audit.checkpoint';

// Names of the OpenTelemetry semantic conventions, preferred to our own.
export const ATTR_EXCEPTION_TYPE = 'exception.type';
export const ATTR_EXCEPTION_MESSAGE = 'exception.message';
export const ATTR_EXCEPTION_STACKTRACE = 'exception.stacktrace';
export const ATTR_USER_ID = 'user.id';
export const ATTR_SESSION_ID = 'session.id';
export const ATTR_CLIENT_ADDRESS = 'client.address';
export const ATTR_USER_AGENT_ORIGINAL = 'user_agent.original';
export const ATTR_ERROR_TYPE = 'error.type';
