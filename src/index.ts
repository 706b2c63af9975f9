import './throws-on-old-node.ts';

export { adopt } from './adopt/adopt.ts';
export { gateLogs, type LoggerConfig, type LoggerScope, loggerConfigurator } from './adopt/otel-logs.ts';
export type { AdoptLoggerOptions } from './adopt/types.ts';
export { type DebugLaneOptions, debugLane, type LogProcessor, type LogRecord } from './emit/debug-lane.ts';
export type { DebugRecord, RecordValue } from './emit/record.ts';
export { gateSampler } from './emit/sampler.ts';
export { ERROR_STATUS, type ErrorCode, isRdcpError, RdcpError, type RdcpErrorOptions } from './errors.ts';
export type {
  Attributes,
  AttributeValue,
  Category,
  CategoryOptions,
  NonFunction,
  NonFunctionObject,
  Span,
  SpanAttributes,
  SpanAttributeValue,
} from './gate/types.ts';
export { RdcpInstrumentation, type RdcpInstrumentationConfig } from './instrumentation.ts';
export type * from './options.ts';
export type * from './protocol/audit-messages.ts';
export {
  AUDIT_ACTIONS,
  AUTH_METHODS,
  type AuthMethod,
  CONTROL_ACTIONS,
  type ControlAction,
  ISOLATION_LEVELS,
  type IsolationLevel,
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
export type { Timestamp } from './protocol/time.ts';
export type { ValidationMetadata, ValidationResult, ValidCredential } from './protocol/validation-result.ts';
export { createRdcp, type Rdcp, type RdcpCallback } from './rdcp.ts';
export type { MessageLogger } from './reporter.ts';
export type * from './store/fleet-store.ts';
export { MAX_MESSAGE_BYTES, type MessageStore } from './store/message-store.ts';
export { type DroppedHead, type Placed, type PrunePlan, planPrune } from './store/prune-plan.ts';
export type * from './store/state-store.ts';
export type * from './store/token-store.ts';
