export type { AuditFilter } from './client/audit.ts';
export {
  type CategorySelection,
  type ControlCommand,
  type ControlOptions,
  createRdcpClient,
  type RdcpClient,
} from './client/client.ts';
export { RdcpResponseError } from './client/response-error.ts';
export type { RdcpTokens, TokenRequest } from './client/tokens.ts';
export type { Fetch, RdcpClientOptions, RequestOptions } from './client/transport.ts';
export { ERROR_STATUS, type ErrorCode, isRdcpError, RdcpError, type RdcpErrorOptions } from './errors.ts';
export type { Scope } from './protocol/constants.ts';
export type * from './protocol/messages.ts';
