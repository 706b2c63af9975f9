import { setImmediate as turn } from 'node:timers/promises';
import { INVALID_SPAN_CONTEXT } from '@opentelemetry/api';
import type { CategoryDescriptor } from '../../gate/types.ts';
import { ATTR_RECORDER_CUT, ATTR_WORK_ID } from '../../otel/semconv.ts';
import { REDACTED } from '../../wire/credentials.ts';
import type { DebugRecord } from '../../wire/debug-record.ts';
import { compileLineFilter } from '../../wire/line-filter.ts';
import { isHidden, type Redaction, shown } from '../../wire/redaction.ts';
import { parseWorkDuration, type When } from '../../wire/target.ts';
import type { Clock } from '../../wire/time/clock.ts';
import type { CallBuilder } from '../emit/built-call.ts';
import { recordOf } from '../emit/record.ts';
import { takesTenant } from '../emit/selection.ts';
import { attributeOfWork } from '../work/attributes.ts';
import { holds } from '../work/matching.ts';
import { summaryOf } from '../work/summary.ts';
import {
  attributeOfKept,
  type KeptLine,
  type KeptWork,
  type Place,
  readWork,
  spanContextOf,
  traceOf,
  workIdOf,
} from './kept-work.ts';
import type { Ring, StoredEntry } from './ring.ts';
import { callOf, type Slot } from './slot.ts';
import type { Past, PastLine, PastLines, PastQuery, PastWork, PastWorks, Reach } from './types.ts';

/** Pieces of work that are read in one turn of the event loop, if they are looked into, which takes a millisecond. */
const READ_IN_A_TURN = 20;
/** The same of those that are passed over. */
const PASSED_IN_A_TURN = 2000;

export interface KeptPastOptions {
  readonly ring: Ring;
  readonly keepSeconds: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly builder: CallBuilder;
  readonly redaction: Redaction;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  /** For filters by process. */
  readonly instanceId: string;
  readonly categoryOf: (index: number) => CategoryDescriptor | undefined;
  /** When recording began; `undefined` while nothing is recorded. */
  readonly began: () => number | undefined;
  /** The calls of work that has not ended. */
  readonly open: () => readonly Slot[];
}

/** Reads what was recorded. */
export class KeptPast implements Past {
  readonly #options: KeptPastOptions;

  constructor(options: KeptPastOptions) {
    this.#options = options;
  }

  get reach(): Reach {
    const { ring, keepSeconds, clock, began } = this.#options;
    const from = began();
    const kept = Math.max(from ?? 0, clock.now() - keepSeconds * 1000, ring.lostUntil ?? 0);
    return { since: from === undefined ? undefined : kept, works: ring.entries, bytes: ring.bytes };
  }

  async lines(query: PastQuery): Promise<PastLines> {
    // Of one moment, before the first turn.
    const { end } = this.#options.ring;
    const open = query.when === undefined ? this.#options.open() : [];
    const found = new Newest(query.limit);
    const filter = query.filter && (await compileLineFilter(query.filter, this.#options.random));
    const add = (line: PastLine | undefined) => {
      if (line !== undefined && (filter === undefined || filter(line, this.#options.instanceId) === true))
        found.add(line);
    };
    for await (const { work, lines } of this.#matching(query, end)) {
      for (const line of lines) add(this.#lineOf(work, line));
    }
    for (const [place, slot] of open.entries()) {
      if (place % READ_IN_A_TURN === READ_IN_A_TURN - 1) await turn();
      if (this.#takesOpen(query, slot)) add(this.#lineOfOpen(slot));
    }
    return { lines: found.lines, more: found.more };
  }

  /** The lines of the work that was kept at a position. */
  linesAt(position: number): readonly DebugRecord[] {
    const entry = this.#options.ring.at(position);
    if (entry === undefined) return [];
    const work = readWork(entry);
    const lines = work.lines.flatMap((line) => this.#lineOf(work, line) ?? []);
    return lines.map(({ order: _order, ...line }) => line);
  }

  async works(query: PastQuery): Promise<PastWorks> {
    const when = query.when ?? { failed: true };
    const works: PastWork[] = [];
    for await (const match of this.#matching({ ...query, when }, this.#options.ring.end)) {
      works.push(this.#workOf(match, query));
      if (works.length > query.limit + 1) works.shift();
    }
    const more = works.length > query.limit;
    return { works: works.slice(more ? 1 : 0).reverse(), more };
  }

  /** Finished work that the query is for, with those of its lines. */
  async *#matching(query: PastQuery, end: number): AsyncGenerator<PastMatch> {
    let passed = 0;
    let read = 0;
    for (const entry of this.#options.ring.upTo(end)) {
      if (passed++ % PASSED_IN_A_TURN === PASSED_IN_A_TURN - 1) await turn();
      if (entry.endedAt < query.since || !ends(query.when, entry) || !this.#hasCategory(query, entry)) continue;
      if (read++ % READ_IN_A_TURN === READ_IN_A_TURN - 1) await turn();
      const work = readWork(entry);
      const isAsked = (place: Place) => takesTenant(query, place.tenantId) && this.#matches(query, work, place);
      const places = new Set(work.places.filter(isAsked));
      if (places.size === 0) continue;
      const lines = work.lines.filter((line) => places.has(work.places[line[3]]!) && this.#takes(query, work, line));
      if (lines.length > 0 || asksForAll(query)) yield { work, entry, places: [...places], lines };
    }
  }

  #hasCategory({ categories }: PastQuery, entry: StoredEntry): boolean {
    return categories.length === 0 || entry.categories.some((index) => categories.includes(this.#nameOf(index)));
  }

  #nameOf(index: number): string {
    return this.#options.categoryOf(index)?.name ?? '';
  }

  #matches({ match = {} }: PastQuery, work: KeptWork, place: Place): boolean {
    return Object.entries(match).every(([name, value]) =>
      this.#allows(name, value, attributeOfKept(work, place, name)),
    );
  }

  /** A value that redaction hides could be guessed. */
  #allows(name: string, wanted: string, actual: string | undefined): boolean {
    const { redaction } = this.#options;
    return !isHidden(name, redaction) && holds(actual, wanted, redaction);
  }

  #takes({ categories, since }: PastQuery, work: KeptWork, [index, at]: KeptLine): boolean {
    return work.at + at >= since && (categories.length === 0 || categories.includes(this.#nameOf(index)));
  }

  #takesOpen(query: PastQuery, { category, at, tenantId, work, active }: Slot): boolean {
    if (!query.categories.includes(category.name) || at < query.since || !takesTenant(query, tenantId)) return false;
    return Object.entries(query.match ?? {}).every(([name, value]) =>
      this.#allows(name, value, attributeOfWork({ work, active }, name)),
    );
  }

  #lineOf(work: KeptWork, line: KeptLine): PastLine | undefined {
    const [index, at, order, place, message, attributes, isRedacted] = line;
    const category = this.#options.categoryOf(index);
    const { tenantId, traceId, spanId } = work.places[place] ?? {};
    if (category === undefined) return undefined;
    const content = { message, attributes: attributes ?? undefined, plain: isRedacted === undefined, bytes: 0 };
    const call = callOf({ ...content, category, at: work.at + at, tenantId }, this.#options.builder);
    const span = traceId === undefined || spanId === undefined ? undefined : { traceId, spanId, traceFlags: 0 };
    const cut = work.cut > 0 && line === work.lines[0] && { [ATTR_RECORDER_CUT]: work.cut };
    const own = { ...call, attributes: { ...call.attributes, [ATTR_WORK_ID]: workIdOf(work.number), ...cut } };
    return { ...recordOf(own, work.at, span ?? INVALID_SPAN_CONTEXT), order: work.order + order };
  }

  #lineOfOpen(slot: Slot): PastLine {
    const call = callOf(slot, this.#options.builder);
    return { ...recordOf(call, slot.at, spanContextOf(slot) ?? INVALID_SPAN_CONTEXT), order: slot.order };
  }

  #workOf({ work, entry: { endedAt }, places, lines }: PastMatch, query: PastQuery): PastWork {
    const { redaction } = this.#options;
    const { number, facts } = work;
    const counts: Record<string, number> = {};
    for (const [index] of lines) counts[this.#nameOf(index)] = 1 + (counts[this.#nameOf(index)] ?? 0);
    const tenants = new Set(lines.map(([, , , place]) => work.places[place]?.tenantId));
    const [tenant] = tenants;
    const traceId = traceOf({ places });
    const shownOf = ([name, value]: readonly [string, string]) =>
      [name, isHidden(name, redaction) ? REDACTED : shown(value, redaction)] as const;
    return {
      id: workIdOf(number),
      at: endedAt,
      outcome: summaryOf(facts, redaction.mask),
      milliseconds: facts.milliseconds,
      ...(traceId !== undefined && { traceId }),
      ...((tenants.size === 1 || query.tenants !== undefined) && tenant !== undefined && { tenant }),
      attributes: Object.fromEntries(places.flatMap(({ attributes }) => attributes).map(shownOf)),
      lines: counts,
    };
  }
}

interface PastMatch {
  readonly work: KeptWork;
  readonly entry: StoredEntry;
  /** Those that were asked for, of which alone its attributes are told. */
  readonly places: readonly Place[];
  readonly lines: readonly KeptLine[];
}

/** Work that has failed without a line is shown to who asks for everything. */
function asksForAll({ categories, tenantId, tenants }: PastQuery): boolean {
  return categories.length === 0 && tenantId === undefined && tenants === undefined;
}

function ends(when: When | undefined, { failed, milliseconds }: StoredEntry): boolean {
  if (when === undefined || (when.failed === true && failed)) return true;
  const slowness = when.slowerThan === undefined ? undefined : parseWorkDuration(when.slowerThan);
  return slowness !== undefined && milliseconds >= slowness;
}

/** The newest lines, in the order in which they were made. */
class Newest {
  more = 0;
  readonly #limit: number;
  #lines: PastLine[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(line: PastLine): void {
    this.#lines.push(line);
    if (this.#lines.length >= 2 * this.#limit) this.#trim();
  }

  get lines(): readonly PastLine[] {
    this.#trim();
    return this.#lines;
  }

  #trim(): void {
    this.#lines.sort((one, other) => one.order - other.order);
    const surplus = Math.max(0, this.#lines.length - this.#limit);
    this.more += surplus;
    this.#lines.splice(0, surplus);
  }
}
