import { SEVERITY } from '../telemetry.ts';

/** The part of a log record that decides which lane it takes. */
export interface LogRecord {
  readonly severityNumber?: number | undefined;
}

/** The part of OpenTelemetry's `LogRecordProcessor` that is the same on both of its lines. */
export interface LogProcessor {
  onEmit(record: LogRecord, context?: unknown): void;
  forceFlush(options?: unknown): Promise<void>;
  shutdown(): Promise<void>;
  /** Absent where the processor takes everything. */
  enabled?(options: unknown): boolean;
}

export interface DebugLaneOptions {
  /**
   * Debug records that the processor may hold at once. The rest of its queue stays free for the other records.
   * @default 512, a quarter of the queue of OpenTelemetry's batch processor
   */
  readonly inProcessor?: number;
  /** Debug records that wait for a place in the processor. What comes beyond is dropped. @default 2048 */
  readonly waiting?: number;
}

interface Waiting {
  readonly record: LogRecord;
  readonly context: unknown;
}

/** Where all copies of this package in a process count together. */
const DROPPED = Symbol.for('opentelemetry-instrumentation-rdcp.lane.dropped');

/** How many debug records the lanes of this process have dropped. */
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
 * a few debug records at a time, lets more of them wait, and drops the newest beyond. Records of INFO and above, and
 * those without a severity, pass straight through.
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
  /** Seen by what looks for an exporter behind a processor. */
  readonly processor: LogProcessor;
  readonly #inProcessor: number;
  readonly #mayWait: number;
  readonly #drops = laneDrops();
  #waiting: Waiting[] = [];
  /** Debug records handed over since the processor was flushed last: it may hold all of them still. */
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
    this.processor = processor;
    this.#inProcessor = inProcessor;
    this.#mayWait = waiting;
  }

  onEmit(record: LogRecord, context?: unknown): void {
    const { severityNumber = 0 } = record;
    if (severityNumber < 1 || severityNumber >= SEVERITY.INFO.severityNumber) this.processor.onEmit(record, context);
    else if (this.#handedOver < this.#inProcessor) this.#handOver({ record, context });
    else if (this.#waiting.length < this.#mayWait) this.#waiting.push({ record, context });
    else this.#drops.count += 1;
  }

  enabled(options: unknown): boolean {
    return this.processor.enabled?.(options) ?? true;
  }

  async forceFlush(): Promise<void> {
    // One that has begun may have passed by what came since. What is emitted from here on is left for the next flush, or a
    // busy application would never see the end of this one.
    let rounds = (this.#flushing === undefined ? 1 : 2) + Math.ceil(this.#waiting.length / this.#inProcessor);
    while (rounds-- > 0) await this.#flush();
  }

  async shutdown(): Promise<void> {
    await this.forceFlush().catch(() => {});
    return this.processor.shutdown();
  }

  #handOver({ record, context }: Waiting): void {
    this.#handedOver += 1;
    this.processor.onEmit(record, context);
    if (this.#handedOver === this.#inProcessor) this.#flush().catch(() => {});
  }

  /** Makes the processor export what it holds, then gives it the next ones. One at a time: it ignores a second call. */
  #flush(): Promise<void> {
    this.#flushing ??= Promise.resolve()
      .then(() => this.processor.forceFlush())
      .finally(() => {
        this.#flushing = undefined;
        this.#handedOver = 0;
        for (const each of this.#waiting.splice(0, this.#inProcessor)) this.#handOver(each);
      });
    return this.#flushing;
  }
}
