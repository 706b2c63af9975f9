import type { Clock } from '../clock.ts';
import type { Gate } from '../gate/types.ts';

/** Maximum number of snapshots per window. A longer window is sampled less often, which bounds memory. */
const SNAPSHOTS_PER_WINDOW = 60;

/** Counters at one moment. */
interface Snapshot {
  /** Monotonic, milliseconds. */
  readonly time: number;
  /** Processor time used by the process, in microseconds. */
  readonly cpu: number;
  /** Calls by category index. A category registered later is missing and counts as zero. */
  readonly totals: Float64Array;
}

/** All counters are zero at the start of the process. */
const PROCESS_START: Snapshot = { time: 0, cpu: 0, totals: new Float64Array(0) };

export interface RatesOptions {
  readonly gate: Pick<Gate, 'categories' | 'callsTotal'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly windowSeconds: number;
  /** Returns the processor time used since the process started, in microseconds. */
  readonly cpuMicroseconds: () => number;
}

/** Rates over a sliding window, computed between two observed moments. */
export interface Rates {
  /** Interval for calling {@link Rates.sample}, in milliseconds. */
  readonly intervalMs: number;
  /** Takes a snapshot. A late call makes the resolution coarser, never the rate wrong. */
  sample(): void;
  callsPerSecond(index: number): number;
  /** Returns processor use in percent of one core; `undefined` before any time has passed. */
  cpuPercent(): number | undefined;
}

export function createRates({ gate, clock, windowSeconds, cpuMicroseconds }: RatesOptions): Rates {
  const windowMs = windowSeconds * 1000;
  /** Oldest first. Never empty after the first sample. */
  const snapshots: Snapshot[] = [];

  function sample(): void {
    const now = clock.monotonic();
    const count = gate.categories().length;
    const spare = dropStale(now);
    const totals = spare !== undefined && spare.length === count ? spare : new Float64Array(count);
    for (let index = 0; index < count; index++) totals[index] = gate.callsTotal(index);
    snapshots.push({ time: now, cpu: cpuMicroseconds(), totals });
  }

  /** Drops snapshots that are older than needed. Returns one of their arrays for reuse. */
  function dropStale(now: number): Float64Array | undefined {
    let spare: Float64Array | undefined;
    for (let next = snapshots[1]; next !== undefined && now - next.time >= windowMs; next = snapshots[1]) {
      spare = snapshots.shift()?.totals;
    }
    return spare;
  }

  const baseline = (now: number): Snapshot => newestOutside(snapshots, now, windowMs) ?? PROCESS_START;

  function callsPerSecond(index: number): number {
    // Fast path: a response lists every category, and most were never called.
    if (gate.callsTotal(index) === 0) return 0;
    const now = clock.monotonic();
    const base = baseline(now);
    return perSecond(gate.callsTotal(index) - (base.totals[index] ?? 0), base.time, now, windowMs);
  }

  function cpuPercent(): number | undefined {
    const now = clock.monotonic();
    const base = baseline(now);
    const elapsed = now - base.time;
    return elapsed > 0 ? ((cpuMicroseconds() - base.cpu) / (elapsed * 1000)) * 100 : undefined;
  }

  if (clock.monotonic() <= windowMs) snapshots.push(PROCESS_START);
  sample();
  return { intervalMs: Math.max(1000, windowMs / SNAPSHOTS_PER_WINDOW), sample, callsPerSecond, cpuPercent };
}

/**
 * Returns the newest moment that is at least a window old, or else the oldest.
 * @param moments oldest first
 */
export function newestOutside<T extends { readonly time: number }>(
  moments: readonly T[],
  now: number,
  windowMs: number,
): T | undefined {
  let found = moments[0];
  for (const moment of moments) {
    if (now - moment.time < windowMs) break;
    found = moment;
  }
  return found;
}

/**
 * Returns a rate over the window.
 * @param since when counting of `calls` began. Calls before it count as outside the window.
 */
export function perSecond(calls: number, since: number, now: number, windowMs: number): number {
  const elapsed = Math.max(now - since, Math.min(now, windowMs));
  return elapsed > 0 ? (calls / elapsed) * 1000 : 0;
}
