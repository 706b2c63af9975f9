import type { Clock } from '../clock.ts';
import type { Gate } from '../gate/types.ts';

/** Snapshots in one window, at most: a long window is sampled less often, so that its memory stays the same. */
const SNAPSHOTS_PER_WINDOW = 60;

/** What had been counted at one moment. */
interface Snapshot {
  /** Monotonic, milliseconds. */
  readonly time: number;
  /** Processor time that the process had used, microseconds. */
  readonly cpu: number;
  /** Calls by category index; a category that is not in it was registered later and counts as zero. */
  readonly totals: Float64Array;
}

/** When the process started nothing had been called, and no processor time been used. */
const PROCESS_START: Snapshot = { time: 0, cpu: 0, totals: new Float64Array(0) };

export interface RatesOptions {
  readonly gate: Pick<Gate, 'categories' | 'callsTotal'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly windowSeconds: number;
  /** Processor time that the process has used since it started, microseconds. */
  readonly cpuMicroseconds: () => number;
}

/** Rates over a sliding window, measured between two moments that were really observed. */
export interface Rates {
  /** How often {@link Rates.sample} wants to be called, milliseconds. */
  readonly intervalMs: number;
  /** Remembers what is counted now. A late call makes the resolution coarser, never the rate wrong. */
  sample(): void;
  callsPerSecond(index: number): number;
  /** Processor time per time, in percent of one core; `undefined` before any time has passed. */
  cpuPercent(): number | undefined;
}

export function createRates({ gate, clock, windowSeconds, cpuMicroseconds }: RatesOptions): Rates {
  const windowMs = windowSeconds * 1000;
  /** Oldest first; never empty once the first sample is taken. */
  const snapshots: Snapshot[] = [];

  function sample(): void {
    const now = clock.monotonic();
    const count = gate.categories().length;
    const spare = dropOutdated(now);
    const totals = spare !== undefined && spare.length === count ? spare : new Float64Array(count);
    for (let index = 0; index < count; index++) totals[index] = gate.callsTotal(index);
    snapshots.push({ time: now, cpu: cpuMicroseconds(), totals });
  }

  /** Keeps the newest of those that are a window old, and returns an array to use again. */
  function dropOutdated(now: number): Float64Array | undefined {
    let spare: Float64Array | undefined;
    for (let next = snapshots[1]; next !== undefined && now - next.time >= windowMs; next = snapshots[1]) {
      spare = snapshots.shift()?.totals;
    }
    return spare;
  }

  const baseline = (now: number): Snapshot => newestOutside(snapshots, now, windowMs) ?? PROCESS_START;

  function callsPerSecond(index: number): number {
    // An answer asks for every category, most of which were never called.
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

/** The newest of some moments, oldest first, that is a window old; or the oldest there is. */
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
 * A rate over the window.
 * @param since when `calls` began to be counted. Where that is neither a window ago nor the start of the process, the
 * calls before it count as outside the window.
 */
export function perSecond(calls: number, since: number, now: number, windowMs: number): number {
  const elapsed = Math.max(now - since, Math.min(now, windowMs));
  return elapsed > 0 ? (calls / elapsed) * 1000 : 0;
}
