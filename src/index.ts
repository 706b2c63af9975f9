import './throws-on-old-node.ts';

export type { DebugRecord, RecordValue } from './emit/record.ts';
export { ERROR_STATUS, type ErrorCode, isRdcpError, RdcpError, type RdcpErrorOptions } from './errors.ts';
export type {
  Attributes,
  AttributeValue,
  Category,
  CategoryOptions,
  Span,
  SpanAttributes,
  SpanAttributeValue,
} from './gate/types.ts';
export { RdcpInstrumentation } from './instrumentation.ts';
export type * from './options.ts';
export type { Emission, EmissionTarget } from './protocol/emission.ts';
export type * from './protocol/messages.ts';
export type { ValidationResult } from './protocol/validation-result.ts';
export { createRdcp, type Rdcp } from './rdcp.ts';
export type { MessageLogger } from './reporter.ts';
export type {
  AuditPage,
  AuditQuery,
  Commit,
  CommitResult,
  Overlay,
  ReplayRecord,
  ScopeKey,
  ScopeState,
  Setting,
  Settings,
  StateStore,
} from './store/state-store.ts';
export type {
  Revocation,
  Revocations,
  Rotation,
  RotationOutcome,
  TokenSession,
  TokenStore,
} from './store/token-store.ts';
