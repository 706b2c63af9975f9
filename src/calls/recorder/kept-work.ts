import { type Context, isSpanContextValid, type SpanContext, trace } from '@opentelemetry/api';
import type { Fields } from '../../wire/debug-record.ts';
import type { CallBuilder } from '../emit/built-call.ts';
import { baggageOf } from '../work/attributes.ts';
import type { PieceOfWork } from '../work/outcomes.ts';
import type { WorkFacts } from '../work/summary.ts';
import type { RingEntry, StoredEntry } from './ring.ts';
import { type Slot, settle } from './slot.ts';

type Entries = readonly (readonly [name: string, value: string])[];

/** What is kept of finished work beside its lines, as the application gave it. */
export interface KeptWork {
  readonly number: number;
  readonly facts: WorkFacts;
  /** Time and order of its first call, from which those of its lines count. */
  readonly at: number;
  readonly order: number;
  /** The first one is the work's own. Most work has no other. */
  readonly places: readonly Place[];
  readonly lines: readonly KeptLine[];
  /** Earlier calls that it had no room for. */
  readonly cut: number;
}

/** Where a call was made. */
export interface Place {
  readonly attributes: Entries;
  readonly tenantId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
}

type Where = Pick<Slot, 'work' | 'tenantId'> & { readonly active: Context | undefined };

/** What is kept of a call. */
export type KeptLine = readonly [
  category: number,
  at: number,
  order: number,
  place: number,
  message: string,
  attributes: Fields | null | undefined,
  /** Whether both are redacted already. */
  isRedacted?: 1,
];

/** @param slots those that are to be kept */
export function keptWork({
  number,
  endedAt,
  piece,
  slots,
  cut,
  builder,
}: {
  readonly number: number;
  readonly endedAt: number;
  readonly piece: PieceOfWork;
  readonly slots: readonly Slot[];
  readonly cut: number;
  readonly builder: CallBuilder;
}): RingEntry {
  const { facts, work, spanContext } = piece;
  const [first] = slots;
  const { at = 0, order = 0 } = first ?? {};
  const own: Where = { work, tenantId: undefined, active: first?.active };
  const places = [placeOf(own, spanContext)];
  const categories: number[] = [];
  const lines: KeptLine[] = [];
  let last = first !== undefined && spanContextOf(first) !== spanContext ? undefined : own;
  for (const slot of slots) {
    settle(slot, builder);
    slot.isKept = true;
    const { category, message, attributes, plain } = slot;
    if (!isSamePlace(slot, last)) places.push(placeOf(slot, spanContextOf(slot)));
    last = slot;
    if (!categories.includes(category.index)) categories.push(category.index);
    const line = [category.index, slot.at - at, slot.order - order, places.length - 1, message, attributes] as const;
    lines.push(plain ? line : [...line, 1]);
  }
  const kept: KeptWork = { number, facts, at, order, places, lines, cut };
  return { endedAt, failed: facts.failed, milliseconds: facts.milliseconds, categories, text: JSON.stringify(kept) };
}

function isSamePlace(slot: Where, last: Where | undefined): boolean {
  return slot.work === last?.work && slot.active === last.active && slot.tenantId === last.tenantId;
}

/** Attributes that are read from what is known of the work. */
const KNOWN: Readonly<Record<string, (work: KeptWork, place: Place) => string | undefined>> = {
  'http.request.method': ({ facts }) => facts.method,
  'url.path': ({ facts }) => facts.path,
  'http.route': ({ facts }) => facts.route,
  'http.response.status_code': ({ facts }) => /^\d+$/.exec(facts.state ?? '')?.[0],
  'trace.id': (work, place) => place.traceId ?? traceOf(work),
};

function placeOf({ work, tenantId, active }: Where, span: SpanContext | undefined): Place {
  const baggage = active === undefined ? [] : baggageOf(active);
  // What the application has set, and what is known, replaces baggage, which a client can fill.
  const told = work.request === undefined ? baggage : baggage.filter(([name]) => !Object.hasOwn(KNOWN, name));
  const attributes = [...told, ...work.attributes];
  return { attributes, tenantId, traceId: span?.traceId, spanId: span?.spanId };
}

export function spanContextOf({ active }: Pick<Slot, 'active'>): SpanContext | undefined {
  const span = trace.getSpanContext(active);
  return span !== undefined && isSpanContextValid(span) ? span : undefined;
}

/** One value for the work, as its lines have it. */
export function workIdOf(number: number): string {
  return number.toString(16).padStart(8, '0');
}

export function readWork(entry: StoredEntry): KeptWork {
  return JSON.parse(entry.text()) as KeptWork;
}

/** The trace of work: that of its root span, or of its first call in a trace. */
export function traceOf({ places }: Pick<KeptWork, 'places'>): string | undefined {
  return places.find(({ traceId }) => traceId !== undefined)?.traceId;
}

/**
 * An attribute by which kept work can be found: those of the application and of baggage, and those of OpenTelemetry's conventions for
 * the request.
 * @param place of a call in it
 */
export function attributeOfKept(work: KeptWork, place: Place, name: string): string | undefined {
  const own = place.attributes.findLast(([known]) => known === name)?.[1];
  return own ?? (Object.hasOwn(KNOWN, name) ? KNOWN[name]?.(work, place) : undefined);
}
