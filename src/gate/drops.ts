import { CAPACITY } from './bits.ts';

/** Why a call of an enabled category produced no output. The names are values of the metric attribute `rdcp.reason`. */
export const DROP = {
  /** Made during the emission of another call. */
  nested: 0,
  /** The output threw. */
  failed: 1,
  /** A worker thread had too many records in flight to the main thread. */
  thread: 2,
  /** The output's queue is full. */
  backlog: 3,
  /** Over the budget of its category, or of the control that switched it on. */
  budget: 4,
  /** Over the budget of all categories together. */
  process_budget: 5,
} as const;

export type DropReason = keyof typeof DROP;
export type DropCode = (typeof DROP)[DropReason];

export const DROP_REASONS = Object.keys(DROP) as readonly DropReason[];

/** Number of drop counters: one per reason and category. */
export const DROP_SLOTS = DROP_REASONS.length * CAPACITY;

export function countDrop(slots: Float64Array, index: number, code: DropCode): void {
  slots[code * CAPACITY + index]! += 1;
}

/** Returns the number of dropped calls of a category, for one reason or for all. */
export function dropsOf(slots: Float64Array, index: number, reason?: DropReason): number {
  if (reason !== undefined) return slots[DROP[reason] * CAPACITY + index] ?? 0;
  let total = 0;
  for (let at = index; at < DROP_SLOTS; at += CAPACITY) total += slots[at] ?? 0;
  return total;
}
