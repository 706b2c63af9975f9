import { ATTR_CATEGORY_NAME } from '../../otel/semconv.ts';
import { SEVERITY } from '../../otel/telemetry.ts';
import { Shares } from './fairness.ts';

/** The part of OpenTelemetry's log records that is the same on both lines, 2.x and 3.x. */
export interface LogRecord {
  /** From 1 (TRACE) to 24 (FATAL). */
  readonly severityNumber?: number | undefined;
  /** The message. */
  readonly body?: unknown;
  /** Name of an event. */
  readonly eventName?: string | undefined;
  /** Its attributes. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  /** The logger that emitted it. */
  readonly instrumentationScope?:
    | {
        /** Name of the scope. */
        readonly name: string;
      }
    | undefined;
}

/** The part of OpenTelemetry's `LogRecordProcessor` that is the same on both lines, 2.x and 3.x. */
export interface LogProcessor {
  /** Takes a log record. */
  onEmit(record: LogRecord, context?: unknown): void;
  /** Resolves once everything that was taken is exported. */
  forceFlush(options?: unknown): Promise<void>;
  /** Flushes, and takes nothing more. */
  shutdown(): Promise<void>;
  /** Absent when the processor accepts everything. */
  enabled?(options: unknown): boolean;
}

/** How many debug records a lane lets pass and wait. */
export interface DebugLaneOptions {
  /**
   * Debug records that the processor may hold at once. The rest of its queue stays free for the other records.
   * @default 512, a quarter of the queue of OpenTelemetry's batch processor
   */
  readonly inProcessor?: number;
  /**
   * Debug records that wait for room in the processor. Further ones are dropped, but for a quarter as many of categories
   * and loggers that have only few of them waiting.
   * @default 2048
   */
  readonly waiting?: number;
}

interface Waiting {
  readonly record: LogRecord;
  readonly context: unknown;
  readonly source: string;
}

/**
 * Share of the waiting room that is added for sources with few records in it. By default a source of ten records a second
 * then loses none behind a flood, even if each export takes the ten seconds after which OpenTelemetry gives it up.
 */
const RESERVE = 1 / 4;

/** The writer of a record: a category, otherwise a logger. */
function sourceOf({ attributes, instrumentationScope }: LogRecord): string {
  const category = attributes?.[ATTR_CATEGORY_NAME];
  return typeof category === 'string' ? category : (instrumentationScope?.name ?? '');
}

/** Shared by all copies of this package in a process. */
const DROPPED = Symbol.for('opentelemetry-instrumentation-rdcp.lane.dropped');

/** The number of debug records dropped by the lanes of this process. */
export interface LaneDrops {
  count: number;
}

export function laneDrops(): LaneDrops {
  const registry = globalThis as { [DROPPED]?: LaneDrops };
  registry[DROPPED] ??= { count: 0 };
  return registry[DROPPED];
}

/**
 * Keeps a flood of debug records from costing the other log records of the application. OpenTelemetry's batch processor
 * drops whatever comes while its queue is full, an error as well as a debug line; in front of it, a debug lane gives it
 * a few debug records at a time, lets more of them wait, and drops the newest beyond, first of those categories that have
 * the most waiting. Records of INFO and above, and those without a severity, pass straight through.
 *
 *     new NodeSDK({ logRecordProcessors: [debugLane(new BatchLogRecordProcessor({ exporter }))] })
 *
 * A debug record may reach the processor after `emit` has returned, when it can no longer be changed: wrap the processor
 * that exports, and put processors that change records before it.
 * @param processor of either line of OpenTelemetry
 * @throws {TypeError} when it is none, such as an exporter
 * @throws {RangeError} when an option is not a positive whole number
 */
export function debugLane(processor: LogProcessor, options: DebugLaneOptions = {}): LogProcessor {
  return new DebugLane(processor, options);
}

class DebugLane implements LogProcessor {
  readonly #processor: LogProcessor;
  readonly #inProcessor: number;
  readonly #mayWait: number;
  readonly #drops = laneDrops();
  readonly #shares: Shares;
  #waiting: Waiting[] = [];
  /** Debug records passed on since the last flush; the processor may still hold all of them. */
  #handedOver = 0;
  #flushing: Promise<void> | undefined;

  constructor(processor: LogProcessor, { inProcessor = 512, waiting = 2048 }: DebugLaneOptions) {
    if (typeof processor?.onEmit !== 'function') {
      throw new TypeError('debugLane: processor must be a log record processor, such as BatchLogRecordProcessor');
    }
    for (const [name, value] of Object.entries({ inProcessor, waiting })) {
      if (!Number.isSafeInteger(value) || value < 1) {
        throw new RangeError(`debugLane: ${name} must be a whole number of 1 or more`);
      }
    }
    this.#processor = processor;
    this.#inProcessor = inProcessor;
    const reserve = Math.ceil(waiting * RESERVE);
    this.#mayWait = waiting + reserve;
    this.#shares = new Shares(reserve);
  }

  onEmit(record: LogRecord, context?: unknown): void {
    const { severityNumber = 0 } = record;
    if (severityNumber < 1 || severityNumber >= SEVERITY.INFO.severityNumber) this.#processor.onEmit(record, context);
    else if (this.#handedOver < this.#inProcessor) this.#handOver(record, context);
    else if (!this.#wait(record, context)) this.#drops.count += 1;
  }

  enabled(options: unknown): boolean {
    return this.#processor.enabled?.(options) ?? true;
  }

  async forceFlush(): Promise<void> {
    // A flush in progress may miss what came since. Records emitted from here on wait for the next flush; otherwise a
    // busy application would never see this one end.
    let rounds = (this.#flushing === undefined ? 1 : 2) + Math.ceil(this.#waiting.length / this.#inProcessor);
    while (rounds-- > 0) await this.#flush();
  }

  async shutdown(): Promise<void> {
    await this.forceFlush().catch(() => {});
    return this.#processor.shutdown();
  }

  /** Returns whether there was room. */
  #wait(record: LogRecord, context: unknown): boolean {
    const source = sourceOf(record);
    if (!this.#shares.admits(source, this.#mayWait - this.#waiting.length)) return false;
    this.#waiting.push({ record, context, source });
    this.#shares.take(source, 1);
    return true;
  }

  #next(): readonly Waiting[] {
    const next = this.#waiting.splice(0, this.#inProcessor);
    for (const { source } of next) this.#shares.giveBack(source, 1);
    return next;
  }

  #handOver(record: LogRecord, context: unknown): void {
    this.#handedOver += 1;
    this.#processor.onEmit(record, context);
    if (this.#handedOver === this.#inProcessor) this.#flush().catch(() => {});
  }

  /**
   * Makes the processor export what it holds, then passes on the next records. One flush at a time: the processor
   * ignores a second call.
   */
  #flush(): Promise<void> {
    this.#flushing ??= Promise.resolve()
      .then(() => this.#processor.forceFlush())
      .finally(() => {
        this.#flushing = undefined;
        this.#handedOver = 0;
        for (const { record, context } of this.#next()) this.#handOver(record, context);
      });
    return this.#flushing;
  }
}
