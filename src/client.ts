export type { AuditFilter } from './tools/client/audit.ts';
export { createRdcpClient, type RdcpClient } from './tools/client/client.ts';
export { RdcpResponseError, type ResponseFacts } from './tools/client/response-error.ts';
export type { EventsRequest, TailRequest } from './tools/client/streams.ts';
export type { RdcpTokens, TokenRequest } from './tools/client/tokens.ts';
export type { Fetch, RdcpClientOptions, RequestOptions } from './tools/client/transport.ts';
export type { Allow } from './wire/allow.ts';
export type * from './wire/audit-messages.ts';
export type { CallCounts } from './wire/call-counts.ts';
export {
  ALLOWED_ACTIONS,
  type AllowedAction,
  AUDIT_ACTIONS,
  AUTH_METHODS,
  type AuthMethod,
  CONTROL_ACTIONS,
  type ControlAction,
  ISOLATION_LEVELS,
  type IsolationLevel,
  LEVELS,
  type Level,
  PROTOCOL,
  SCOPES,
  type Scope,
  SECURITY_LEVELS,
  type SecurityLevel,
} from './wire/constants.ts';
export type { CategorySelection, ControlCommand, ControlOptions } from './wire/control-options.ts';
export type { Emission, EmissionTarget } from './wire/emission.ts';
export { ERROR_STATUS, type ErrorCode, isRdcpError, RdcpError, type RdcpErrorOptions } from './wire/errors.ts';
export type * from './wire/messages.ts';
export type * from './wire/oauth-messages.ts';
export type * from './wire/streams.ts';
export type { ControlTarget, Instances, LineFilter, Match, Target, When } from './wire/target.ts';
export type { Timestamp } from './wire/time.ts';
