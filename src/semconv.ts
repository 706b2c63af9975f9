// All telemetry names. docs/telemetry.md documents them.

export const METRIC_DEBUG_CALLS = 'rdcp.debug.calls';
export const METRIC_DEBUG_CALL_RATE = 'rdcp.debug.call.rate';
export const METRIC_DEBUG_DROPPED = 'rdcp.debug.dropped';
export const METRIC_CATEGORY_ENABLED = 'rdcp.category.enabled';
export const METRIC_CONTROL_TEMPORARY = 'rdcp.control.temporary';
export const METRIC_CONTROL_REQUESTS = 'rdcp.control.requests';
export const METRIC_CONTROL_DURATION = 'rdcp.control.duration';
export const METRIC_AUTH_FAILURES = 'rdcp.auth.failures';
export const METRIC_CREDENTIAL_FAILURES = 'rdcp.credentials.reload.failures';
export const METRIC_CONDITIONS = 'rdcp.condition.active';
export const METRIC_AUDIT_FAILURES = 'rdcp.audit.failures';
export const METRIC_NOTIFICATIONS = 'rdcp.notifications';

export const ATTR_CATEGORY_NAME = 'rdcp.category.name';
/** On records about several categories; always an array. */
export const ATTR_CATEGORY_NAMES = 'rdcp.category.names';
/** Names of the attributes of a debug call that were truncated. */
export const ATTR_ATTRIBUTES_TRUNCATED = 'rdcp.attributes.truncated';
/** Why the attributes of a debug call were dropped. */
export const ATTR_ATTRIBUTES_ERROR = 'rdcp.attributes.error';
/** Number of calls that the budget of a category dropped, and the time of the first. */
export const ATTR_DROPPED_COUNT = 'rdcp.dropped.count';
export const ATTR_DROPPED_SINCE = 'rdcp.dropped.since';
export const ATTR_TENANT_ID = 'rdcp.tenant.id';
export const ATTR_SCOPE = 'rdcp.scope';
export const ATTR_INSTANCE_ID = 'rdcp.instance.id';
export const ATTR_ACTION = 'rdcp.action';
export const ATTR_OUTCOME = 'rdcp.outcome';
export const ATTR_AUTH_METHOD = 'rdcp.auth.method';
export const ATTR_REASON = 'rdcp.reason';

export const ATTR_CONDITION_NAME = 'rdcp.condition.name';

export const ATTR_REQUEST_ID = 'rdcp.request.id';
export const ATTR_CLIENT_ID = 'rdcp.client.id';
export const ATTR_SCOPES = 'rdcp.auth.scopes';
export const ATTR_TENANT_NAME = 'rdcp.tenant.name';
export const ATTR_SECURITY_LEVEL = 'rdcp.security.level';
export const ATTR_AUDIT_ID = 'rdcp.audit.id';
export const ATTR_AUDIT_TIMESTAMP = 'rdcp.audit.timestamp';
export const ATTR_AUDIT_BUDGET = 'rdcp.audit.budget';
export const ATTR_AUDIT_TAIL = 'rdcp.audit.tail';
export const ATTR_AUDIT_CHANGES = 'rdcp.audit.changes';
export const ATTR_AUDIT_COUNT = 'rdcp.audit.count';
export const ATTR_AUDIT_SEQUENCE = 'rdcp.audit.sequence';
export const ATTR_AUDIT_PREVIOUS_HASH = 'rdcp.audit.previous_hash';
export const ATTR_AUDIT_PREVIOUS_RETAIN_UNTIL = 'rdcp.audit.previous_retain_until';
export const ATTR_AUDIT_HASH = 'rdcp.audit.hash';
export const ATTR_AUDIT_RETAIN_UNTIL = 'rdcp.audit.retain_until';
export const ATTR_AUDIT_SIGNATURE = 'rdcp.audit.signature';
export const ATTR_AUDIT_DROPPED = 'rdcp.audit.dropped';

/** Event name of the log record of an audit entry. */
export const EVENT_AUDIT = 'rdcp.audit';
/** Event name of the hourly record with the newest sequence and hash of this process's audit chain. */
export const EVENT_AUDIT_CHECKPOINT = 'rdcp.audit.checkpoint';

// Names of the OpenTelemetry semantic conventions, preferred to our own.
export const ATTR_CLIENT_ADDRESS = 'client.address';
export const ATTR_USER_ID = 'user.id';
export const ATTR_SESSION_ID = 'session.id';
export const ATTR_EXCEPTION_TYPE = 'exception.type';
export const ATTR_EXCEPTION_MESSAGE = 'exception.message';
export const ATTR_EXCEPTION_STACKTRACE = 'exception.stacktrace';
export const ATTR_ERROR_TYPE = 'error.type';
export const ATTR_USER_AGENT_ORIGINAL = 'user_agent.original';
