import type { ArgumentRedaction } from '../../calls/emit/arguments.ts';
import type { LogProcessor, LogRecord } from '../../calls/emit/debug-lane.ts';
import { gate } from '../../gate/gate.ts';
import { ANY_LEVEL, LEVEL } from '../../gate/levels.ts';
import type { Described } from '../../gate/types.ts';
import { SEVERITY } from '../../otel/telemetry.ts';
import { INSTRUMENTATION_NAME } from '../../wire/version.ts';
import type { AdoptedCategory } from '../category.ts';
import { scopeCategory } from './scopes.ts';

/** The configuration of one scope's logger, in the words of both lines of OpenTelemetry. */
export interface LoggerConfig {
  /** In 3.x. */
  readonly enabled: boolean;
  /** In 2.x. */
  readonly disabled: boolean;
  /** Records of a lower severity number are dropped; 0 drops none. */
  readonly minimumSeverity: number;
  /** Whether records of traces that are not sampled are dropped. */
  readonly traceBased: boolean;
}

/**
 * Logger configurator for OpenTelemetry's `LoggerProvider`: log records below INFO of an instrumentation scope pass while the
 * scope's category, `OTEL_` and its name, is on, and so do those that `minimumSeverity` or `traceBased` of `configurator` would drop.
 * Records of this package always pass, unless `configurator` disables its scope.
 * The provider reads the configuration of a scope once, and its fields for each record, so that switching takes effect at once. It cannot see which records are emitted: {@link gateLogs} counts
 * and limits them as well. While a control with a level is in force, the severity of that level is the minimum.
 *
 *     new LoggerProvider({ loggerConfigurator: loggerConfigurator(), processors: [gateLogs(processor)] })
 *
 * @param configurator what else applies to a scope. @default nothing
 */
export function loggerConfigurator(
  configurator: (scope: { readonly name: string }) => Partial<LoggerConfig> = () => ({}),
): (scope: { readonly name: string }) => LoggerConfig {
  return (scope) => {
    const given = configurator(scope);
    // A record of ours is there because a category is on, or is the audit trail's.
    const isOurs = scope.name === INSTRUMENTATION_NAME;
    return {
      get enabled() {
        return given.enabled ?? given.disabled !== true;
      },
      get disabled() {
        return !this.enabled;
      },
      get minimumSeverity() {
        const { minimumSeverity = 0 } = isOurs ? {} : given;
        const category = scopeCategory(scope.name);
        if (category === undefined) return minimumSeverity;
        const level = category.wanted && !category.observed ? category.level : ANY_LEVEL;
        if (level > LEVEL.info) return Math.max(minimumSeverity, severityOf(level));
        if (level !== ANY_LEVEL) return severityOf(level);
        return isOn(category) ? 0 : Math.max(minimumSeverity, INFO);
      },
      get traceBased() {
        if (isOurs || given.traceBased !== true) return false;
        const category = scopeCategory(scope.name);
        return category === undefined || !isOn(category);
      },
    };
  };
}

/**
 * Lets log records below INFO of an instrumentation scope pass to a processor only while the scope's category, `OTEL_` and its
 * name, is on. They are counted and have a budget as any debug call. Records of ERROR and above, those without a severity,
 * and those of this package always pass; INFO and WARN unless the scope is quietened. `Logger.enabled()` answers accordingly if every processor is wrapped.
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
/** The first severity number of ERROR: https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber. */
const ERROR = 17;

class LogGate implements LogProcessor {
  /** Lets exporter detection look behind the gate. */
  readonly #processor: LogProcessor;

  constructor(processor: LogProcessor) {
    if (typeof processor?.onEmit !== 'function') {
      throw new TypeError('gateLogs: processor must be a log record processor, such as BatchLogRecordProcessor');
    }
    this.#processor = processor;
  }

  onEmit(record: LogRecord, context?: unknown): void {
    if (Number(record.severityNumber) >= ERROR) gate.work.fail(undefined);
    const decision = decide(record);
    if (decision.passes) this.#processor.onEmit(record, context);
    // The processor may have emitted records of its own.
    last = decision;
  }

  enabled(options: {
    readonly severityNumber?: number;
    readonly instrumentationScope?: { readonly name: string };
  }): boolean {
    const { severityNumber, instrumentationScope } = options ?? {};
    const { isDebug, level } = kindOf(severityNumber);
    const category = scopeCategory(instrumentationScope?.name ?? '');
    if (category?.guard({ level, isDebug, admitted: !isDebug }) === false) return false;
    return this.#processor.enabled?.(options) ?? true;
  }

  forceFlush(options?: unknown): Promise<void> {
    return this.#processor.forceFlush(options);
  }

  shutdown(): Promise<void> {
    return this.#processor.shutdown();
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
  const { body, eventName, attributes = {}, severityNumber } = record;
  const kind = kindOf(severityNumber);
  const verdict = category.judge({
    ...kind,
    reach: kind.isDebug ? 'withheld' : 'open',
    bytes: (typeof body === 'string' ? body : scope).length,
    given: [body ?? null, eventName ?? '', attributes],
    describe: (given) => describe(scope, given),
    isTimeless: true,
  });
  if (verdict === 'forced') redact(record, category.redaction);
  return verdict === 'forced' || (verdict === 'native' && !kind.isDebug);
}

function describe(scope: string, [body, eventName, attributes]: readonly unknown[]): Described {
  const isText = typeof body === 'string';
  const rest = isText || body === null ? {} : { body };
  return {
    message: String(isText ? body : eventName),
    attributes: { ...(attributes as object), ...rest, 'otel.scope.name': scope },
  };
}

/** The setters of the SDK's records. */
interface WritableRecord {
  setBody?(body: unknown): unknown;
  setAttribute?(name: string, value: unknown): unknown;
}

/** Masks secrets in a record that is there because its category is on. */
function redact(record: LogRecord & WritableRecord, redaction: ArgumentRedaction): void {
  const { body, attributes = {} } = record;
  const shownBody = redaction.value(body);
  if (!Object.is(shownBody, body)) record.setBody?.(shownBody);
  for (const [name, shown] of Object.entries(redaction.fields(attributes))) {
    if (!Object.is(shown, attributes[name])) record.setAttribute?.(name, shown);
  }
}

/** Severity numbers of the levels from TRACE up, four of each: https://opentelemetry.io/docs/specs/otel/logs/data-model/. */
const SEVERITIES = 4;

/** A severity among our levels. A record without one has 0, or none, and always passes. */
function kindOf(severityNumber = 0): { readonly level: number; readonly isDebug: boolean } {
  const level = severityNumber === 0 ? LEVEL.error : LEVEL.trace + Math.floor((severityNumber - 1) / SEVERITIES);
  return { level: Math.min(level, LEVEL.error), isDebug: severityNumber > 0 && severityNumber < INFO };
}

/** The least severity of a level; 0 for every record. */
function severityOf(level: number): number {
  return level < LEVEL.trace ? 0 : (level - LEVEL.trace) * SEVERITIES + 1;
}

const isOn = (category: AdoptedCategory) => category.wanted && category.enabled;
