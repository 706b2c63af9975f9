// Telemetry names, all in one place; the README has the same as tables.

export const METRIC_DEBUG_CALLS = 'rdcp.debug.calls';
export const METRIC_DEBUG_CALL_RATE = 'rdcp.debug.call.rate';
export const METRIC_DEBUG_DROPPED = 'rdcp.debug.dropped';
export const METRIC_CATEGORY_ENABLED = 'rdcp.category.enabled';
export const METRIC_CONTROL_TEMPORARY = 'rdcp.control.temporary';
export const METRIC_CONTROL_REQUESTS = 'rdcp.control.requests';
export const METRIC_CONTROL_DURATION = 'rdcp.control.duration';
export const METRIC_AUTH_FAILURES = 'rdcp.auth.failures';

export const ATTR_CATEGORY_NAME = 'rdcp.category.name';
export const ATTR_TENANT_ID = 'rdcp.tenant.id';
export const ATTR_SCOPE = 'rdcp.scope';
export const ATTR_INSTANCE_ID = 'rdcp.instance.id';
export const ATTR_ACTION = 'rdcp.action';
export const ATTR_OUTCOME = 'rdcp.outcome';
export const ATTR_AUTH_METHOD = 'rdcp.auth.method';
export const ATTR_REASON = 'rdcp.reason';

/** Event name of audit log records. */
export const EVENT_AUDIT = 'rdcp.audit';

// OpenTelemetry semantic conventions, before names of our own.
export const ATTR_CLIENT_ADDRESS = 'client.address';
export const ATTR_USER_ID = 'user.id';
export const ATTR_USER_AGENT_ORIGINAL = 'user_agent.original';
