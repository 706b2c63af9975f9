import { isSpanContextValid, type SpanContext, trace } from '@opentelemetry/api';
import type { Work } from '../../gate/work.ts';
import type { Fields } from '../../wire/debug-record.ts';
import { baggageOf } from '../work/attributes.ts';
import type { PieceOfWork } from '../work/outcomes.ts';
import type { WorkFacts } from '../work/summary.ts';
import type { RingEntry, StoredEntry } from './ring.ts';
import type { Slot } from './slot.ts';

type Entries = readonly (readonly [name: string, value: string])[];

/** What is kept of finished work beside its lines, as the application gave it. */
export interface KeptWork {
  readonly id: string;
  readonly facts: WorkFacts;
  readonly traceId: string | null;
  /** Attributes of the work, and of the work in it that had others. Lines name them by their place. */
  readonly attributes: readonly Entries[];
}

/** What is kept of a call. */
export type KeptLine = readonly [
  category: number,
  at: number,
  order: number,
  level: number,
  /** Of {@link KeptWork.attributes}. */
  place: number,
  message: string,
  attributes: Fields | null,
  plain: 0 | 1,
  tenantId: string | null,
  traceId: string | null,
  spanId: string | null,
];

/** Finished work as it is kept: two texts, since most work is passed over by what the first one says. */
export function keptWork({
  id,
  endedAt,
  piece,
  slots,
}: {
  readonly id: string;
  readonly endedAt: number;
  readonly piece: PieceOfWork;
  readonly slots: readonly Slot[];
}): RingEntry {
  const works = new Map<Work, number>([[piece.work, 0]]);
  const attributes: Entries[] = [attributesOf(piece.work, slots[0])];
  const categories: number[] = [];
  const lines: KeptLine[] = [];
  let active: unknown;
  let span: SpanContext | undefined;
  for (const slot of slots) {
    const { category, at, order, level, said, tenantId, work } = slot;
    let place = works.get(work);
    if (place === undefined) {
      place = attributes.push(attributesOf(work, slot)) - 1;
      works.set(work, place);
    }
    // Calls often follow each other in one span.
    if (slot.active !== active) {
      active = slot.active;
      span = spanContextOf(slot);
    }
    if (!categories.includes(category.index)) categories.push(category.index);
    lines.push([
      category.index,
      at,
      order,
      level,
      place,
      said.message,
      said.attributes ?? null,
      said.plain ? 1 : 0,
      tenantId ?? null,
      span?.traceId ?? null,
      span?.spanId ?? null,
    ]);
  }
  const { facts } = piece;
  const work: KeptWork = { id, facts, traceId: piece.spanContext?.traceId ?? lines[0]?.[9] ?? null, attributes };
  return {
    endedAt,
    failed: facts.failed,
    milliseconds: facts.milliseconds,
    categories,
    head: JSON.stringify(work),
    lines: JSON.stringify(lines),
  };
}

export function spanContextOf({ active }: Pick<Slot, 'active'>): SpanContext | undefined {
  const span = trace.getSpanContext(active);
  return span !== undefined && isSpanContextValid(span) ? span : undefined;
}

function attributesOf(work: Work, slot: Slot | undefined): Entries {
  // What the application has set comes after baggage, which a client can fill, and so replaces it.
  return [...(slot === undefined ? [] : baggageOf(slot.active)), ...work.attributes];
}

export function readWork(entry: StoredEntry): KeptWork {
  return JSON.parse(entry.head()) as KeptWork;
}

export function readLines(entry: StoredEntry): readonly KeptLine[] {
  return JSON.parse(entry.lines()) as readonly KeptLine[];
}

/**
 * An attribute by which kept work can be found: those of the application and of baggage, and those of OpenTelemetry's conventions for
 * the request.
 * @param place of the attributes of a call's work
 */
export function attributeOfKept(
  { facts, traceId, attributes }: KeptWork,
  place: number,
  name: string,
): string | undefined {
  const own = attributes[place]?.findLast(([known]) => known === name)?.[1];
  if (own !== undefined) return own;
  if (name === 'http.request.method') return facts.method;
  if (name === 'url.path') return facts.path;
  if (name === 'http.route') return facts.route;
  if (name === 'http.response.status_code') return /^\d+$/.exec(facts.state ?? '')?.[0];
  return name === 'trace.id' ? (traceId ?? undefined) : undefined;
}
