export type { AuditFilter } from './client/audit.ts';
export {
  type CategorySelection,
  type ControlCommand,
  type ControlOptions,
  createRdcpClient,
  type RdcpClient,
} from './client/client.ts';
export { RdcpResponseError, type ResponseFacts } from './client/response-error.ts';
export type { EventsRequest, TailRequest } from './client/streams.ts';
export type { RdcpTokens, TokenRequest } from './client/tokens.ts';
export type { Fetch, RdcpClientOptions, RequestOptions } from './client/transport.ts';
export { ERROR_STATUS, type ErrorCode, isRdcpError, RdcpError, type RdcpErrorOptions } from './errors.ts';
export type { Allow } from './protocol/allow.ts';
export type * from './protocol/audit-messages.ts';
export type { CallCounts } from './protocol/call-counts.ts';
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
} from './protocol/constants.ts';
export type { Emission, EmissionTarget } from './protocol/emission.ts';
export type * from './protocol/messages.ts';
export type * from './protocol/oauth-messages.ts';
export type * from './protocol/streams.ts';
export type { ControlTarget, Instances, LineFilter, Match, Target, When } from './protocol/target.ts';
export type { Timestamp } from './protocol/time.ts';
