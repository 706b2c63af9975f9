import './loading/throws-on-old-node.ts';

export { adopt } from './adopt/adopt.ts';
export { gateLogs, type LoggerConfig, loggerConfigurator } from './adopt/otel/logs.ts';
export type { AdoptLoggerOptions } from './adopt/types.ts';
export { type DebugLaneOptions, debugLane, type LogProcessor, type LogRecord } from './emit/debug-lane.ts';
export type { DebugRecord, RecordValue } from './emit/record.ts';
export { gateSampler } from './emit/sampler.ts';
export { type ErrorCode, isRdcpError, RdcpError } from './errors.ts';
export type { Category } from './gate/types.ts';
export { RdcpInstrumentation, type RdcpInstrumentationConfig } from './instrumentation.ts';
export type * from './options/options.ts';
export type { Scope } from './protocol/constants.ts';
export type { ValidationMetadata, ValidationResult, ValidCredential } from './protocol/validation-result.ts';
export { createRdcp, type Rdcp, type RdcpCallback } from './rdcp.ts';
export type { MessageLogger } from './report/reporter.ts';
