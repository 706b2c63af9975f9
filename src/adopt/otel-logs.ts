import type { LogProcessor, LogRecord } from '../emit/debug-lane.ts';
import { SEVERITY } from '../telemetry.ts';
import { scopeCategory } from './otel-scopes.ts';

/** The configuration of one scope's logger, in the words of both lines of OpenTelemetry. */
export interface LoggerConfig {
  /** Of 3.x. */
  readonly enabled: boolean;
  /** Of 2.x. */
  readonly disabled: boolean;
  /** Records of a lower severity number are dropped; 0 drops none. */
  readonly minimumSeverity: number;
  /** Whether records of traces that are not sampled are dropped. */
  readonly traceBased: boolean;
}

/** A scope, as OpenTelemetry's `InstrumentationScope`. */
export interface LoggerScope {
  /** Name of the scope. */
  readonly name: string;
}

/**
 * Logger configurator for OpenTelemetry's `LoggerProvider`: log records below INFO of an instrumentation scope pass while the
 * scope's category, `OTEL_` and its name, is on. The provider reads the configuration of a scope once, and its fields for
 * each record, so that switching takes effect at once. It cannot see which records are emitted: {@link gateLogs} counts
 * and limits them as well.
 *
 *     new LoggerProvider({ loggerConfigurator: loggerConfigurator(), processors: [gateLogs(processor)] })
 *
 * @param configurator what else applies to a scope. @default nothing
 */
export function loggerConfigurator(
  configurator: (scope: LoggerScope) => Partial<LoggerConfig> = () => ({}),
): (scope: LoggerScope) => LoggerConfig {
  return (scope) => {
    const given = configurator(scope);
    return {
      get enabled() {
        return given.enabled ?? given.disabled !== true;
      },
      get disabled() {
        return !this.enabled;
      },
      get minimumSeverity() {
        const { minimumSeverity = 0 } = given;
        return passes(scope.name) ? minimumSeverity : Math.max(minimumSeverity, INFO);
      },
      get traceBased() {
        return given.traceBased ?? false;
      },
    };
  };
}

/**
 * Lets log records below INFO of an instrumentation scope pass to a processor only while the scope's category, `OTEL_` and its
 * name, is on. They are counted and have a budget as any debug call. Records of INFO and above, those without a severity,
 * and those of this package always pass. `Logger.enabled()` answers accordingly if every processor is wrapped.
 *
 *     new NodeSDK({ logRecordProcessors: [gateLogs(debugLane(new BatchLogRecordProcessor({ exporter })))] })
 *
 * @param processor of either line of OpenTelemetry
 * @throws {TypeError} when it is none, such as an exporter
 */
export function gateLogs(processor: LogProcessor): LogProcessor {
  return new LogGate(processor);
}

const INFO = SEVERITY.INFO.severityNumber;

class LogGate implements LogProcessor {
  /** Lets exporter detection look behind the gate. */
  readonly processor: LogProcessor;

  constructor(processor: LogProcessor) {
    if (typeof processor?.onEmit !== 'function') {
      throw new TypeError('gateLogs: processor must be a log record processor, such as BatchLogRecordProcessor');
    }
    this.processor = processor;
  }

  onEmit(record: LogRecord, context?: unknown): void {
    if (!isBelowInfo(record.severityNumber)) {
      this.processor.onEmit(record, context);
      return;
    }
    const decision = decide(record);
    if (decision.passes) this.processor.onEmit(record, context);
    // The processor may have emitted records of its own.
    last = decision;
  }

  enabled(options: { readonly severityNumber?: number; readonly instrumentationScope?: LoggerScope }): boolean {
    if (isBelowInfo(options?.severityNumber) && !passes(options?.instrumentationScope?.name)) return false;
    return this.processor.enabled?.(options) ?? true;
  }

  forceFlush(options?: unknown): Promise<void> {
    return this.processor.forceFlush(options);
  }

  shutdown(): Promise<void> {
    return this.processor.shutdown();
  }
}

interface Decision {
  readonly record: LogRecord | undefined;
  readonly passes: boolean;
}

/** A record goes to one processor after the other, and is one call. */
let last: Decision = { record: undefined, passes: false };

function decide(record: LogRecord): Decision {
  if (last.record !== record) last = { record, passes: admit(record) };
  return last;
}

function admit(record: LogRecord): boolean {
  const scope = record.instrumentationScope?.name ?? '';
  const category = scopeCategory(scope);
  if (category === undefined) return true;
  if (!category.wanted) return false;
  const body = typeof record.body === 'string' ? record.body : undefined;
  return category.passes(body ?? scope, () => ({
    message: body ?? record.eventName ?? '',
    attributes: {
      ...record.attributes,
      ...(body === undefined && record.body !== undefined && { body: record.body }),
      'otel.scope.name': scope,
    },
  }));
}

/** Whether records of the scope that are below INFO pass here and now. */
function passes(scope: string | undefined): boolean {
  const category = scopeCategory(scope ?? '');
  return category === undefined || (category.wanted && category.enabled);
}

/** Records without a severity have 0, or none. */
function isBelowInfo(severityNumber: number | undefined): boolean {
  return severityNumber !== undefined && severityNumber > 0 && severityNumber < INFO;
}
