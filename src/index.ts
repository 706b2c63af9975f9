import './otel/loading/throws-on-old-node.ts';

export { adopt } from './adopt/adopt.ts';
export { gateLogs, type LoggerConfig, loggerConfigurator } from './adopt/otel/logs.ts';
export type { AdoptLoggerOptions } from './adopt/types.ts';
export { RdcpInstrumentation, type RdcpInstrumentationConfig } from './assembly/instrumentation.ts';
export { createRdcp, type Rdcp, type RdcpCallback } from './assembly/rdcp.ts';
export { type DebugLaneOptions, debugLane, type LogProcessor, type LogRecord } from './calls/emit/debug-lane.ts';
export { gateSampler } from './calls/emit/sampler.ts';
export type { Category } from './gate/types.ts';
export type * from './options/options.ts';
export type { MessageLogger } from './otel/report/reporter.ts';
export * as Store from './store/port.ts';
export type { StateStore } from './store/state-store.ts';
export type { Scope } from './wire/constants.ts';
export type { DebugRecord, Value as RecordValue } from './wire/debug-record.ts';
export { type ErrorCode, isRdcpError, RdcpError } from './wire/errors.ts';
export type { ValidationMetadata, ValidationResult, ValidCredential } from './wire/validation-result.ts';
