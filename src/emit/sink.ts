import type { Clock } from '../clock.ts';
import type { AttributeFailure, Attributes, CategoryDescriptor, Sink, Span } from '../gate/types.ts';
import { ATTR_CATEGORY_NAME, ATTR_TENANT_ID } from '../semconv.ts';
import { createStderrWriter } from '../stderr.ts';
import { isConnected, type Logger, type Telemetry } from '../telemetry.ts';
import { buildAttributes, withError } from './attributes.ts';
import { textLine } from './line.ts';
import { messageText } from './message.ts';
import { otelOutput } from './otel.ts';
import { type Output, recordOf } from './record.ts';
import { runInSpan } from './span.ts';

export interface SinkOptions {
  readonly telemetry: Telemetry;
  readonly clock: Pick<Clock, 'now'>;
  /** Takes a call's line, without its end, while no logger provider is there. @default writes it on stderr */
  readonly writeLine?: (line: string) => void;
}

/** Where debug calls go: to the OpenTelemetry logger, else to stderr; spans to the OpenTelemetry tracer. */
export function createSink({ telemetry, clock, writeLine = createStderrWriter() }: SinkOptions): Sink {
  /** The logger that was found to lead somewhere. One that does not may get its provider at any time. */
  let connected: Logger | undefined;
  const stderr: Output = (call) => writeLine(textLine(recordOf(call, clock.now())));
  let otel = stderr;
  const current = () => {
    const { logger } = telemetry;
    if (logger === connected) return otel;
    if (!isConnected(logger)) return stderr;
    otel = otelOutput(logger);
    connected = logger;
    return otel;
  };

  function emit(
    category: CategoryDescriptor,
    message: string,
    given: Attributes | (() => Attributes) | undefined,
    tenantId?: string,
  ): AttributeFailure | undefined {
    const { attributes, simple, failure } = buildAttributes(
      category.name,
      typeof message === 'string' ? given : withError(message, given),
    );
    current()({ message: messageText(message), attributes, simple, tenantId });
    return failure;
  }

  return {
    emit,
    span: <T>(category: CategoryDescriptor, name: string, fn: (span?: Span) => T, tenantId?: string): T =>
      runInSpan(
        () => telemetry.tracer,
        name,
        { [ATTR_CATEGORY_NAME]: category.name, ...(tenantId !== undefined && { [ATTR_TENANT_ID]: tenantId }) },
        fn,
      ),
  };
}
