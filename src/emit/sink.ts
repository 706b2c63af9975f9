import { trace } from '@opentelemetry/api';
import type { Clock } from '../clock.ts';
import type { Attributes, CategoryDescriptor, Sink, Span } from '../gate/types.ts';
import { ATTR_CATEGORY_NAME, ATTR_TENANT_ID } from '../semconv.ts';
import { createStderrWriter } from '../stderr.ts';
import { isConnected, type Logger, SEVERITY, type Telemetry } from '../telemetry.ts';
import { formatLine } from './line.ts';
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

  function emit(
    category: CategoryDescriptor,
    message: string,
    attributes: Attributes | undefined,
    tenantId?: string,
  ): void {
    const { logger } = telemetry;
    if (logger !== connected) {
      if (!isConnected(logger)) {
        writeLine(formatLine(clock.now(), category.name, message, attributes, trace.getActiveSpan()?.spanContext()));
        return;
      }
      connected = logger;
    }
    logger.emit({
      severityNumber: SEVERITY.DEBUG.severityNumber,
      severityText: SEVERITY.DEBUG.severityText,
      body: message,
      attributes:
        tenantId === undefined
          ? { ...attributes, [ATTR_CATEGORY_NAME]: category.name }
          : { ...attributes, [ATTR_CATEGORY_NAME]: category.name, [ATTR_TENANT_ID]: tenantId },
    });
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
