import { context, isSpanContextValid, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import type { DropCode } from '../../gate/drops.ts';
import type { CategoryDescriptor } from '../../gate/types.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import { ATTR_RECORDED, ATTR_RECORDER_CUT, ATTR_WORK_ID, ATTR_WORK_OUTCOME } from '../../otel/semconv.ts';
import type { RecordedFailure } from '../../trail/notify/failures.ts';
import { parseWorkDuration, type When } from '../../wire/target.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import type { PieceOfWork, WorkOutcomes } from '../work/outcomes.ts';
import type { Budget } from './budget.ts';
import { type Call, HELD_BYTES, keepable } from './record.ts';
import { bytesOf } from './text.ts';

/** How much is kept of work whose outcome is not known yet: the option `recorder`. */
export interface RecorderLimits {
  readonly callsPerWork: number;
  readonly bytesPerWork: number;
  readonly bytes: number;
  readonly works: number;
  readonly seconds: number;
}

export const RECORDER_DEFAULTS: RecorderLimits = {
  callsPerWork: 200,
  bytesPerWork: 65_536,
  bytes: 16_777_216,
  works: 10_000,
  seconds: 60,
};

/**
 * The budget for what is recorded. It is larger than that of other calls: beyond it whole pieces of work are left out, and
 * those are what was asked for.
 */
export const RECORDED_RATE = { callsPerSecond: 1000, burst: 5000, bytesPerSecond: 4 * 1024 * 1024 };

/** Interval in which calls that are too old are dropped, in milliseconds. */
const TICK_MS = 1000;

/** An output that gets calls once the outcome of their work is known: of an activation, or of a tail. */
export interface HeldOutput {
  readonly when: When;
  /** Admits or refuses the calls of a whole piece of work. @default no limit */
  readonly budget?: Budget | undefined;
  /** @returns why the call was dropped */
  write(category: CategoryDescriptor, call: Call): DropCode | undefined;
  /** Called after lines of one category were written because their work failed. Must not throw. */
  readonly failed?: ((failure: RecordedFailure) => void) | undefined;
}

/** What became of the recorded calls of a category. */
export interface RecorderCounts {
  written: number;
  /** Of work that neither failed nor was slow. */
  forgotten: number;
  /** Beyond a limit, or refused by a budget or an output. */
  cut: number;
}

interface HeldCall {
  readonly output: HeldOutput;
  readonly category: CategoryDescriptor;
  readonly call: Call;
  readonly span: SpanContext | undefined;
  readonly order: number;
}

/** What is kept of one piece of work. */
interface Recording {
  calls: HeldCall[];
  bytes: number;
  cut: number;
}

export interface RecorderOptions {
  readonly works: Pick<WorkOutcomes, 'current' | 'watch'>;
  readonly limits: RecorderLimits;
  readonly clock: Pick<Clock, 'now'>;
  readonly schedule: Schedule;
  readonly random: () => number;
  /** Masks credentials in what a piece of work is called. */
  readonly mask: (text: string) => string;
}

/** Keeps calls by piece of work, and writes them when the work fails or is slow. Bounded in every direction. */
export class Recorder {
  /** Whether the process ends: what is written then must not wait. */
  ending = false;
  readonly #options: RecorderOptions;
  readonly #outputs = new Map<HeldOutput, number>();
  /** By piece of work, the longest first. */
  readonly #recordings = new Map<PieceOfWork, Recording>();
  readonly #cutBefore = new WeakMap<PieceOfWork, number>();
  /** By index of the category. */
  readonly #counts = new Map<number, RecorderCounts>();
  #bytes = 0;
  #order = 0;
  #stop = () => {};

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** @returns a function that ends it, and forgets what it holds */
  open(output: HeldOutput): () => void {
    const slowerThan = output.when.slowerThan === undefined ? undefined : parseWorkDuration(output.when.slowerThan);
    this.#outputs.set(output, slowerThan ?? Number.POSITIVE_INFINITY);
    if (this.#outputs.size === 1) this.#begin();
    return () => {
      if (!this.#outputs.delete(output)) return;
      for (const recording of this.#recordings.values()) this.#take(recording, (each) => each.output === output);
      if (this.#outputs.size === 0) this.#stop();
    };
  }

  /** Whether a call that is made now can be recorded. */
  get records(): boolean {
    return this.#options.works.current() !== undefined;
  }

  countsOf(index: number): Readonly<RecorderCounts> | undefined {
    return this.#counts.get(index);
  }

  /** @param call is not modified */
  record(output: HeldOutput, category: CategoryDescriptor, call: Call): void {
    const { works, limits, clock } = this.#options;
    const piece = works.current();
    if (piece === undefined) return;
    const recording = this.#recordings.get(piece) ?? this.#recordingOf(piece);
    const span = trace.getActiveSpan()?.spanContext();
    const kept = { ...keepable(call), at: clock.now() };
    recording.calls.push({ output, category, call: kept, span, order: this.#order++ });
    recording.bytes += heldBytes(call);
    this.#bytes += heldBytes(call);
    this.#cutToLimits(recording);
    while (this.#bytes > limits.bytes) this.#cutLongest();
  }

  #begin(): void {
    const { works, schedule } = this.#options;
    const unwatch = works.watch({
      ended: (piece) => this.#ended(piece),
      exiting: () => {
        this.ending = true;
        for (const piece of [...this.#recordings.keys()]) piece.interrupted();
      },
    });
    const stop = schedule(TICK_MS, () => this.#tick());
    this.#stop = () => {
      unwatch();
      stop();
      this.#recordings.clear();
      this.#bytes = 0;
    };
  }

  #recordingOf(piece: PieceOfWork): Recording {
    if (this.#recordings.size >= this.#options.limits.works) {
      const [[longest, recording]] = this.#recordings as unknown as [[PieceOfWork, Recording]];
      while (recording.calls.length > 0) this.#cutOldest(recording);
      this.#giveUp(longest, recording);
    }
    const recording = { calls: [], bytes: 0, cut: this.#cutBefore.get(piece) ?? 0 };
    this.#recordings.set(piece, recording);
    piece.findSpan();
    return recording;
  }

  /** Keeps of a recording without calls only how many were cut. */
  #giveUp(piece: PieceOfWork, { cut }: Recording): void {
    this.#cutBefore.set(piece, cut);
    this.#recordings.delete(piece);
  }

  /** Cuts the oldest calls of a piece of work. Its limit is of what the lines say, that of all work is of memory. */
  #cutToLimits(recording: Recording): void {
    const { callsPerWork, bytesPerWork } = this.#options.limits;
    const { calls } = recording;
    while (calls.length > callsPerWork || recording.bytes - calls.length * HELD_BYTES > bytesPerWork)
      this.#cutOldest(recording);
  }

  /** Cuts the oldest call of the work that has taken longest. */
  #cutLongest(): void {
    for (const [piece, recording] of this.#recordings) {
      if (recording.calls.length > 0) {
        this.#cutOldest(recording);
        return;
      }
      this.#giveUp(piece, recording);
    }
    throw new Error('bytes without calls');
  }

  #cutOldest(recording: Recording): void {
    const { category, call } = recording.calls.shift()!;
    recording.cut += 1;
    recording.bytes -= heldBytes(call);
    this.#bytes -= heldBytes(call);
    this.#countOf(category).cut += 1;
  }

  #countOf({ index }: CategoryDescriptor): RecorderCounts {
    const known = this.#counts.get(index);
    if (known !== undefined) return known;
    const counts = { written: 0, forgotten: 0, cut: 0 };
    this.#counts.set(index, counts);
    return counts;
  }

  /** Removes calls of an output that has ended. */
  #take(recording: Recording, which: (call: HeldCall) => boolean): void {
    for (const each of recording.calls) {
      if (!which(each)) continue;
      recording.bytes -= heldBytes(each.call);
      this.#bytes -= heldBytes(each.call);
      this.#countOf(each.category).forgotten += 1;
    }
    recording.calls = recording.calls.filter((each) => !which(each));
  }

  #ended(piece: PieceOfWork): void {
    const recording = this.#recordings.get(piece);
    if (recording === undefined) return;
    this.#recordings.delete(piece);
    this.#write(piece, recording);
    this.#bytes -= recording.bytes;
    // Work inside other work that ended well is a part of that.
    const { around } = piece;
    if (around !== undefined && !around.ended && recording.calls.length > 0) this.#join(around, recording);
    else for (const { category } of recording.calls) this.#countOf(category).forgotten += 1;
  }

  #join(around: PieceOfWork, { calls, bytes, cut }: Recording): void {
    const outer = this.#recordings.get(around) ?? this.#recordingOf(around);
    outer.calls = [...outer.calls, ...calls].sort((one, other) => one.order - other.order);
    outer.bytes += bytes;
    this.#bytes += bytes;
    outer.cut += cut;
    this.#cutToLimits(outer);
  }

  /** Work that has failed comes out after a while although it has not ended; otherwise old calls of it are dropped. */
  #tick(): void {
    const oldest = this.#options.clock.now() - this.#options.limits.seconds * 1000;
    for (const [piece, recording] of this.#recordings) {
      const isOld = () => (recording.calls[0]?.call.at ?? Number.POSITIVE_INFINITY) < oldest;
      if (isOld()) this.#write(piece, recording);
      while (isOld()) this.#cutOldest(recording);
    }
  }

  #fires({ when }: HeldOutput, slowerThan: number, { failure, milliseconds }: PieceOfWork): boolean {
    return (when.failed === true && failure !== undefined) || milliseconds >= slowerThan;
  }

  /** Writes the calls of the outputs that the work is for. The others stay. */
  #write(piece: PieceOfWork, recording: Recording): void {
    const firing = new Set<HeldOutput>();
    for (const [output, slowerThan] of this.#outputs) {
      if (this.#fires(output, slowerThan, piece) && recording.calls.some((each) => each.output === output))
        firing.add(output);
    }
    if (firing.size === 0) return;
    const written = recording.calls.filter(({ output }) => firing.has(output));
    recording.calls = recording.calls.filter(({ output }) => !firing.has(output));
    const hasRoom = [...firing].every(({ budget }) => budget?.hasRoom !== false);
    const workId = Math.floor(this.#options.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
    const summary = piece.summary(this.#options.mask);
    const outcome = { [ATTR_RECORDED]: true, [ATTR_WORK_ID]: workId, [ATTR_WORK_OUTCOME]: summary };
    const outcomeBytes = bytesOf(outcome);
    const failures = new Map<HeldOutput, RecordedFailure>();
    let cut = recording.cut > 0 ? { [ATTR_RECORDER_CUT]: recording.cut } : {};
    recording.cut = 0;
    for (const { output, category, call, span } of written) {
      recording.bytes -= heldBytes(call);
      this.#bytes -= heldBytes(call);
      const isWritten = hasRoom || output.budget === undefined;
      if (!isWritten) output.budget?.drop(1);
      const bytes = call.bytes + outcomeBytes + bytesOf(cut);
      const own = { ...call, attributes: { ...call.attributes, ...outcome, ...cut }, bytes };
      const done = isWritten && writeOne(output, category, own, span);
      if (done) cut = {};
      this.#countOf(category)[done ? 'written' : 'cut'] += 1;
      if (!done || output.failed === undefined || piece.failure === undefined) continue;
      const lines = 1 + (failures.get(output)?.lines ?? 0);
      const { traceId, spanId } = span ?? {};
      failures.set(output, { category: category.name, lines, workId, outcome: summary, traceId, spanId });
    }
    for (const [output, failure] of failures) output.failed?.(failure);
  }
}

function heldBytes({ bytes }: Call): number {
  return bytes + HELD_BYTES;
}

/** Writes a call in the span that it was made in. An output that throws fails neither the other calls nor the application. */
function writeOne(
  output: HeldOutput,
  category: CategoryDescriptor,
  call: Call,
  span: SpanContext | undefined,
): boolean {
  const active =
    span !== undefined && isSpanContextValid(span)
      ? trace.setSpan(ROOT_CONTEXT, trace.wrapSpanContext(span))
      : ROOT_CONTEXT;
  try {
    output.budget?.take();
    if (context.with(active, () => output.write(category, call)) !== undefined) return false;
    output.budget?.spend(call.bytes);
    return true;
  } catch (error) {
    diagnostics.error('rdcp: a recorded call was not written', error);
    return false;
  }
}
