import { type Context, context, INVALID_SPAN_CONTEXT, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { DropCode } from '../../gate/drops.ts';
import { ANY_LEVEL } from '../../gate/levels.ts';
import type { AttributeFailure, CategoryDescriptor, RecordedCall, RecordedLine } from '../../gate/types.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import { ATTR_RECORDED, ATTR_RECORDER_CUT, ATTR_WORK_ID, ATTR_WORK_OUTCOME } from '../../otel/semconv.ts';
import type { RecordedFailure } from '../../trail/notify/failures.ts';
import type { DebugRecord } from '../../wire/debug-record.ts';
import type { Redaction } from '../../wire/redaction.ts';
import { parseWorkDuration, type When } from '../../wire/target.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import type { Budget } from '../emit/budget.ts';
import type { CallBuilder } from '../emit/built-call.ts';
import { type Call, recordOf } from '../emit/record.ts';
import { bytesOf } from '../emit/text.ts';
import type { Surroundings } from '../work/attributes.ts';
import type { PieceOfWork, WorkOutcomes } from '../work/outcomes.ts';
import { summaryOf } from '../work/summary.ts';
import { keptWork, spanContextOf, workIdOf } from './kept-work.ts';
import { KeptPast } from './past.ts';
import { Ring } from './ring.ts';
import { callOf, detach, lateLine, type Slot, takeOver } from './slot.ts';
import type { Past, RecorderLimits } from './types.ts';

/**
 * The budget for what is written of failed work. It is larger than that of other calls: beyond it whole pieces of work are left out,
 * and those are what was asked for.
 */
export const RECORDED_RATE = { callsPerSecond: 1000, burst: 5000, bytesPerSecond: 4 * 1024 * 1024 };

/** Interval in which what is too old is dropped, in milliseconds. */
const TICK_MS = 1000;
/** Memory that a recorded call takes beside its texts, in bytes, as measured: `test/emit/memory.full.ts`. */
const SLOT_BYTES = 300;
/** Most calls whose texts are copied in one interval, which takes some milliseconds. */
const MAX_COPIED = 2000;

const NOWHERE: readonly never[] = [];

/** An output that gets calls once their work has failed or was slow: of an activation, or of a tail. */
export interface HeldOutput {
  readonly when: When;
  /** Whether it is where the calls of categories that are on are written, so that these do not come twice. @default false */
  readonly isLog?: boolean;
  /** Admits or refuses the calls of a whole piece of work. @default no limit */
  readonly budget?: Budget | undefined;
  /** What several outputs have in common gets a call once. @returns why the call was dropped */
  readonly write: (category: CategoryDescriptor, call: Call) => DropCode | undefined;
  /** Called after lines of one category were written because their work failed. Must not throw. */
  readonly failed?: ((failure: RecordedFailure) => void) | undefined;
}

/** Calls of a category that somebody wants to be recorded. */
export interface RecordedPart {
  /** Whether it wants the calls of every tenant and level. */
  readonly isWhole: boolean;
  /** The least urgent level of its lines. */
  readonly level: number;
  isOfTenant(tenantId: string | undefined): boolean;
  /** Asked once the work has ended, so that an attribute that was set late counts for all of its calls. */
  isOfWork(surroundings: Surroundings): boolean;
  /** @default every line */
  readonly takesLine?: ((line: DebugRecord) => boolean) | undefined;
  /** @default the calls are only kept for who asks for the past */
  readonly output?: HeldOutput | undefined;
}

export const ALL_CALLS: RecordedPart = {
  isWhole: true,
  level: ANY_LEVEL,
  isOfTenant: () => true,
  isOfWork: () => true,
};

/** What became of the recorded calls of a category. */
export interface RecorderCounts {
  written: number;
  /** Of work that neither failed nor was slow. It may still be asked for. */
  forgotten: number;
  /** Beyond a limit, or refused by a budget or an output. */
  cut: number;
}

/** What was recorded of a piece of work that has not ended. */
class Recording {
  readonly owner: Recorder;
  /** Of the work, among those of this process. */
  readonly number: number;
  slots: Slot[] = [];
  /** Of texts. */
  bytes = 0;
  cut = 0;
  /** Calls at the beginning of {@link slots} whose texts were copied. */
  copied = 0;
  isOpen = false;
  /** Whether its calls are those of the work around it now. */
  joined = false;
  /** Where it is among finished work. */
  keptAt: number | undefined;

  constructor(owner: Recorder, number: number) {
    this.owner = owner;
    this.number = number;
  }
}

export interface RecorderOptions {
  readonly works: Pick<WorkOutcomes, 'currentWork' | 'latest' | 'watch'>;
  readonly limits: RecorderLimits;
  readonly clock: Pick<Clock, 'now'>;
  readonly schedule: Schedule;
  readonly random: () => number;
  readonly instanceId: string;
  readonly builder: CallBuilder;
  /** What is masked in what a piece of work is called and has as attributes. */
  readonly redaction: Redaction;
}

/**
 * Keeps the calls of recorded categories by their piece of work, writes them when the work fails or is slow, and keeps finished
 * work for a while. Bounded in every direction.
 */
export class Recorder {
  readonly #kept: KeptPast;
  /** Whether the process ends: what is written then must not wait. */
  ending = false;
  readonly #options: RecorderOptions;
  readonly #ring: Ring;
  /** By index of the category. */
  readonly #parts: (readonly RecordedPart[] | undefined)[] = [];
  /** By index, those that have been recorded. */
  readonly #categories: (CategoryDescriptor | undefined)[] = [];
  /** By index: whether some part wants the calls of every tenant and level. */
  readonly #isWhole: boolean[] = [];
  /** With the time from which on work is slow, in milliseconds. */
  #outputs: ReadonlyMap<HeldOutput, number> = new Map();
  readonly #listeners = new Set<(index: number, recorded: boolean) => void>();
  /** The longest work first. */
  readonly #open = new Map<PieceOfWork, Recording>();
  /** By index of the category. */
  readonly #counts: (RecorderCounts | undefined)[] = [];
  /** Of texts and slots. */
  #bytes = 0;
  #order = 0;
  /** Of the newest work. */
  #number: number;
  /** When recording began, in milliseconds since the epoch; `undefined` while nothing is recorded. */
  #since: number | undefined;
  #stop = () => {};

  constructor(options: RecorderOptions) {
    const { limits, random } = options;
    this.#options = options;
    this.#ring = new Ring(limits.keepBytes);
    this.#number = Math.floor(random() * 2 ** 32);
    this.#kept = new KeptPast({
      ...options,
      ring: this.#ring,
      keepSeconds: limits.keepSeconds,
      categoryOf: (index) => this.#categories[index],
      began: () => this.#since,
      open: () => [...this.#open.values()].flatMap(({ slots }) => slots),
    });
  }

  get past(): Past {
    return this.#kept;
  }

  /** Records calls of a category. @returns a function that ends it */
  record(category: CategoryDescriptor, part: RecordedPart): () => void {
    const { index } = category;
    this.#categories[index] = category;
    this.#setParts(index, [...(this.#parts[index] ?? []), part]);
    return () => {
      const parts = this.#parts[index] ?? [];
      if (parts.includes(part)) this.#setParts(index, parts.toSpliced(parts.indexOf(part), 1));
    };
  }

  /** @param name of a category */
  isRecorded(name: string): boolean {
    return this.#categories.some((category) => category?.name === name && this.#parts[category.index] !== undefined);
  }

  /** Whether a call that is made now would be recorded, and guards are open for that. */
  opens(category: CategoryDescriptor, tenantId: string | undefined): boolean {
    const { limits, works } = this.#options;
    return (
      limits.guards && works.currentWork() !== undefined && this.#wants(category, tenantId, Number.POSITIVE_INFINITY)
    );
  }

  /** Calls back with every category that is recorded, and whenever that changes. */
  watch(listener: (index: number, recorded: boolean) => void): () => void {
    this.#listeners.add(listener);
    for (const [index, parts] of this.#parts.entries()) if (parts !== undefined) listener(index, true);
    return () => this.#listeners.delete(listener);
  }

  countsOf(index: number): Readonly<RecorderCounts> | undefined {
    return this.#counts[index];
  }

  /** What was recorded so far of the current piece of work; of work that has just ended too: reporters of errors take their time. */
  currentLines(): readonly RecordedLine[] {
    let piece = this.#options.works.latest();
    let recording = piece && this.#ownOf(piece);
    // Work inside other work that ended well has become a part of that.
    while (piece?.around !== undefined && recording?.joined === true) {
      piece = piece.around;
      recording = this.#ownOf(piece);
    }
    if (recording === undefined) return [];
    const { keptAt, slots } = recording;
    const lines = keptAt === undefined ? slots.map((slot) => this.#recordOf(slot)) : this.#kept.linesAt(keptAt);
    return lines.map(({ severity: _severity, ...line }) => line);
  }

  /** Records a call of the current work. */
  take({ category, message, given, tenantId, level, isWritten, own }: RecordedCall): AttributeFailure | undefined {
    const work = this.#options.works.currentWork();
    if (work === undefined || !this.#wants(category, tenantId, level)) return undefined;
    const late = own && lateLine(own);
    const described = late === undefined ? own?.describe(own.given ?? []) : undefined;
    if (own !== undefined && late === undefined && described === undefined) return undefined;
    const { builder, clock, limits } = this.#options;
    const active = context.active();
    const slot: Slot = {
      category,
      message: described?.message ?? message,
      attributes: undefined,
      plain: true,
      bytes: late?.bytes ?? 0,
      late,
      level,
      at: clock.now(),
      order: this.#order++,
      tenantId,
      work,
      active,
      isWritten,
      writtenTo: NOWHERE,
      isKept: false,
    };
    const attributes = described === undefined ? given : described.attributes;
    const failure = late === undefined ? takeOver(slot, attributes, builder) : undefined;
    const recording = this.#recordingOf(work.followed, active);
    recording.slots.push(slot);
    recording.bytes += slot.bytes;
    this.#bytes += slot.bytes + SLOT_BYTES;
    const { callsPerWork, bytesPerWork, bytes } = limits;
    while (recording.slots.length > callsPerWork || recording.bytes > bytesPerWork) this.#cutOldest(recording);
    while (this.#bytes > bytes) this.#cutLongest();
    return failure;
  }

  #wants({ index }: CategoryDescriptor, tenantId: string | undefined, level: number): boolean {
    if (this.#isWhole[index]) return true;
    return this.#parts[index]?.some((part) => level >= part.level && part.isOfTenant(tenantId)) === true;
  }

  #setParts(index: number, parts: readonly RecordedPart[]): void {
    const wasRecorded = this.#parts[index] !== undefined;
    this.#parts[index] = parts.length === 0 ? undefined : parts;
    this.#isWhole[index] = parts.some((part) => part.isWhole);
    const outputs = this.#parts.flatMap((each) => each ?? []).flatMap(({ output }) => output ?? []);
    this.#outputs = new Map(outputs.map((output) => [output, slownessOf(output)]));
    if (parts.length > 0 !== wasRecorded) for (const listener of this.#listeners) listener(index, !wasRecorded);
    if (parts.length === 0) this.#forget(index);
    const isNeeded = this.#parts.some((each) => each !== undefined);
    if (isNeeded && this.#since === undefined) this.#begin();
    if (!isNeeded && this.#since !== undefined) this.#stop();
  }

  #begin(): void {
    const { works, schedule, clock } = this.#options;
    const unwatch = works.watch({
      ended: (piece) => this.#ended(piece),
      exiting: () => {
        this.ending = true;
        for (const piece of [...this.#open.keys()]) piece.interrupted();
      },
    });
    const stop = schedule(TICK_MS, () => this.#tick());
    this.#since = clock.now();
    this.#stop = () => {
      unwatch();
      stop();
      for (const recording of this.#open.values()) recording.isOpen = false;
      this.#open.clear();
      this.#ring.clear();
      this.#bytes = 0;
      this.#since = undefined;
    };
  }

  /** Forgets the calls of a category that is no longer recorded. */
  #forget(index: number): void {
    for (const recording of this.#open.values()) {
      const forgotten = recording.slots.filter(({ category }) => category.index === index);
      for (const { bytes } of forgotten) {
        recording.bytes -= bytes;
        this.#bytes -= bytes + SLOT_BYTES;
      }
      recording.slots = recording.slots.filter(({ category }) => category.index !== index);
      recording.copied = 0;
      this.#countForgotten(forgotten);
    }
  }

  #countForgotten(slots: readonly Slot[]): void {
    for (const slot of slots) if (!cameOut(slot)) this.#countOf(slot.category).forgotten += 1;
  }

  #recordingOf(piece: PieceOfWork, active: Context): Recording {
    let recording = this.#ownOf(piece);
    if (recording === undefined) {
      recording = new Recording(this, this.#nextNumber());
      piece.recorded = recording;
      piece.findSpan(active);
    }
    if (!recording.isOpen) {
      if (this.#open.size >= this.#options.limits.works) this.#giveUpLongest();
      recording.isOpen = true;
      this.#open.set(piece, recording);
    }
    return recording;
  }

  #ownOf({ recorded }: PieceOfWork): Recording | undefined {
    return recorded instanceof Recording && recorded.owner === this ? recorded : undefined;
  }

  #nextNumber(): number {
    this.#number = (this.#number + 1) >>> 0;
    return this.#number;
  }

  #giveUpLongest(): void {
    for (const [piece, recording] of this.#open) {
      while (recording.slots.length > 0) this.#cutOldest(recording);
      this.#close(piece, recording);
      return;
    }
  }

  #close(piece: PieceOfWork, recording: Recording): void {
    recording.isOpen = false;
    this.#open.delete(piece);
  }

  /** Cuts the oldest call of the work that has taken longest. */
  #cutLongest(): void {
    for (const [piece, recording] of this.#open) {
      if (recording.slots.length > 0) {
        this.#cutOldest(recording);
        return;
      }
      this.#close(piece, recording);
    }
    throw new Error('bytes without calls');
  }

  #cutOldest(recording: Recording): void {
    const slot = recording.slots.shift()!;
    const { category, bytes } = slot;
    recording.bytes -= bytes;
    recording.copied = Math.max(0, recording.copied - 1);
    this.#bytes -= bytes + SLOT_BYTES;
    if (cameOut(slot)) return;
    recording.cut += 1;
    this.#countOf(category).cut += 1;
  }

  #countOf({ index }: CategoryDescriptor): RecorderCounts {
    this.#counts[index] ??= { written: 0, forgotten: 0, cut: 0 };
    return this.#counts[index];
  }

  #ended(piece: PieceOfWork): void {
    const recording = this.#ownOf(piece);
    if (recording === undefined || !recording.isOpen) {
      if (piece.failure !== undefined && !piece.isOurs) this.#keep(piece, recording?.number ?? this.#nextNumber(), []);
      return;
    }
    this.#close(piece, recording);
    const { number, slots, cut } = recording;
    this.#write(piece, recording);
    this.#bytes -= recording.bytes + slots.length * SLOT_BYTES;
    const { around } = piece;
    const isPart = around !== undefined && !around.ended;
    // Work inside other work that ended well is a part of that.
    if (!isPart || piece.failure !== undefined) recording.keptAt = this.#keep(piece, number, slots, cut);
    if (isPart && slots.length > 0) this.#join(around, recording);
    else this.#countForgotten(slots);
    // An async context, such as that of a connection, can hold on to work that has ended.
    recording.slots = [];
  }

  #join(around: PieceOfWork, recording: Recording): void {
    const { slots, bytes, cut } = recording;
    recording.joined = true;
    const outer = this.#recordingOf(around, slots[0]!.active);
    outer.slots = [...outer.slots, ...slots].sort((one, other) => one.order - other.order);
    outer.copied = 0;
    outer.bytes += bytes;
    outer.cut += cut;
    this.#bytes += bytes + slots.length * SLOT_BYTES;
    const { callsPerWork, bytesPerWork } = this.#options.limits;
    while (outer.slots.length > callsPerWork || outer.bytes > bytesPerWork) this.#cutOldest(outer);
  }

  /** @returns its position among finished work */
  #keep(piece: PieceOfWork, number: number, slots: readonly Slot[], cut = 0): number | undefined {
    const { limits, clock, builder } = this.#options;
    if (limits.keepSeconds === 0) return undefined;
    const kept = slots.filter((slot) => !slot.isKept && (this.#isWhole[slot.category.index] || this.#takes(slot)));
    if (kept.length === 0 && piece.failure === undefined) return undefined;
    return this.#ring.add(keptWork({ number, endedAt: clock.now(), piece, slots: kept, cut, builder }));
  }

  /** Whether some part of its category takes a call. */
  #takes(slot: Slot, output?: HeldOutput): boolean {
    const parts = this.#parts[slot.category.index] ?? [];
    return parts.some(
      (part) =>
        (output === undefined || part.output === output) &&
        slot.level >= part.level &&
        part.isOfTenant(slot.tenantId) &&
        part.isOfWork(slot) &&
        (part.takesLine?.(this.#recordOf(slot)) ?? true),
    );
  }

  #recordOf(slot: Slot): DebugRecord {
    return recordOf(callOf(slot, this.#options.builder), slot.at, spanContextOf(slot) ?? INVALID_SPAN_CONTEXT);
  }

  #tick(): void {
    const { limits, clock } = this.#options;
    const now = clock.now();
    const keptFor = limits.keepSeconds * 1000;
    this.#ring.dropOutside(now - keptFor, now + keptFor);
    const oldest = now - Math.max(limits.seconds, limits.keepSeconds) * 1000;
    let mayCopy = MAX_COPIED;
    for (const [piece, recording] of this.#open) {
      mayCopy -= copyTexts(recording, mayCopy);
      const isOld = () => (recording.slots[0]?.at ?? Number.POSITIVE_INFINITY) < oldest;
      // Work that has failed comes out after a while although it has not ended.
      if (isOld()) this.#write(piece, recording);
      while (isOld()) this.#cutOldest(recording);
    }
  }

  /** Writes the calls of the outputs that the work is for. */
  #write(piece: PieceOfWork, recording: Recording): void {
    let wrote = false;
    for (const [output, slowness] of this.#outputs) {
      const { when } = output;
      const fires = (when.failed === true && piece.failure !== undefined) || piece.milliseconds >= slowness;
      if (fires) wrote = this.#writeTo(output, piece, recording) || wrote;
    }
    if (wrote) recording.cut = 0;
  }

  /** @returns whether there were any */
  #writeTo(output: HeldOutput, piece: PieceOfWork, recording: Recording): boolean {
    const { builder, redaction } = this.#options;
    const isNew = (slot: Slot) => !slot.writtenTo.includes(output.write) && !(slot.isWritten && output.isLog === true);
    const slots = recording.slots.filter((slot) => isNew(slot) && this.#takes(slot, output));
    if (slots.length === 0) return false;
    const hasRoom = output.budget?.hasRoom !== false;
    const outcome = summaryOf(piece.facts, redaction.mask);
    const workId = workIdOf(recording.number);
    const own = { [ATTR_RECORDED]: true, [ATTR_WORK_ID]: workId };
    let first = { [ATTR_WORK_OUTCOME]: outcome, ...(recording.cut > 0 && { [ATTR_RECORDER_CUT]: recording.cut }) };
    const failures = new Map<CategoryDescriptor, RecordedFailure>();
    for (const slot of slots) {
      if (!hasRoom) output.budget?.drop(1);
      const call = callOf(slot, builder);
      const attributes = { ...own, ...first };
      const line = {
        ...call,
        attributes: { ...call.attributes, ...attributes },
        bytes: call.bytes + bytesOf(attributes),
      };
      const isWritten = hasRoom && writeOne(output, slot, line);
      if (!cameOut(slot)) this.#countOf(slot.category)[isWritten ? 'written' : 'cut'] += 1;
      slot.writtenTo = [...slot.writtenTo, output.write];
      if (!isWritten) continue;
      first = {} as typeof first;
      const { traceId, spanId } = spanContextOf(slot) ?? {};
      const lines = 1 + (failures.get(slot.category)?.lines ?? 0);
      failures.set(slot.category, { category: slot.category.name, lines, workId, outcome, traceId, spanId });
    }
    if (piece.failure !== undefined) for (const failure of failures.values()) output.failed?.(failure);
    return true;
  }
}

function cameOut({ isWritten, writtenTo }: Slot): boolean {
  return isWritten || writtenTo.length > 0;
}

function slownessOf({ when }: HeldOutput): number {
  return (when.slowerThan === undefined ? undefined : parseWorkDuration(when.slowerThan)) ?? Number.POSITIVE_INFINITY;
}

/**
 * Copies the texts of calls of work that goes on.
 * @returns how many were copied
 */
function copyTexts(recording: Recording, most: number): number {
  const end = Math.min(recording.slots.length, recording.copied + most);
  const count = end - recording.copied;
  for (; recording.copied < end; recording.copied++) detach(recording.slots[recording.copied]!);
  return count;
}

/** Writes a call in the span that it was made in. An output that throws fails neither the other calls nor the application. */
function writeOne(output: HeldOutput, slot: Slot, call: Call): boolean {
  const span = spanContextOf(slot);
  const active = span === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, span);
  try {
    output.budget?.take();
    if (context.with(active, () => output.write(slot.category, call)) !== undefined) return false;
    output.budget?.spend(call.bytes);
    return true;
  } catch (error) {
    diagnostics.error('rdcp: a recorded call was not written', error);
    return false;
  }
}
