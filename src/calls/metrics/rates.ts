import type { Gate, TenantCalls } from '../../gate/types.ts';
import type { Clock } from '../../wire/time/clock.ts';

/** Maximum number of snapshots per window. A longer window is sampled less often, which bounds memory. */
const SNAPSHOTS_PER_WINDOW = 60;
/** Of a tenant's counts. Few, because there may be many tenants. */
const MARKS_PER_WINDOW = 6;

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

interface Window {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly windowSeconds: number;
}

/**
 * Rates over a sliding window, computed between two observed moments.
 * @param options `cpuMicroseconds` returns the processor time used since the process started
 */
export function createRates({
  gate,
  clock,
  windowSeconds,
  cpuMicroseconds,
}: Window & {
  readonly gate: Pick<Gate, 'categories' | 'callsTotal'>;
  readonly cpuMicroseconds: () => number;
}) {
  const windowMs = windowSeconds * 1000;
  const snapshots = new SlidingWindow(windowMs, clock, PROCESS_START);

  /** Takes a snapshot. A late call makes the resolution coarser, never the rate wrong. */
  function sample(): void {
    const count = gate.categories().length;
    const totals = new Float64Array(count);
    for (let index = 0; index < count; index++) totals[index] = gate.callsTotal(index);
    snapshots.add({ time: clock.monotonic(), cpu: cpuMicroseconds(), totals });
  }

  function callsPerSecond(index: number): number {
    // Fast path: a response lists every category, and most were never called.
    if (gate.callsTotal(index) === 0) return 0;
    const { time, totals } = snapshots.base;
    return snapshots.perSecond(gate.callsTotal(index) - (totals[index] ?? 0), time);
  }

  /** In percent of one core; `undefined` before any time has passed. */
  function cpuPercent(): number | undefined {
    const { time, cpu } = snapshots.base;
    const elapsed = clock.monotonic() - time;
    return elapsed > 0 ? ((cpuMicroseconds() - cpu) / (elapsed * 1000)) * 100 : undefined;
  }

  sample();
  /** Between two samples, in milliseconds. */
  const intervalMs = Math.max(1000, windowMs / SNAPSHOTS_PER_WINDOW);
  return { intervalMs, sample, callsPerSecond, cpuPercent };
}

/** The same for each tenant. */
export function createTenantRates({ calls, clock, windowSeconds }: Window & { readonly calls: TenantCalls }) {
  const windowMs = windowSeconds * 1000;
  /** Mark 0 is the start of the process. */
  const moments = new SlidingWindow(windowMs, clock, { time: 0, mark: 0 });

  /** Takes a snapshot if enough time has passed since the last one. */
  function sample(): void {
    const now = clock.monotonic();
    const { latest } = moments;
    if (latest !== undefined && now - latest.time < windowMs / MARKS_PER_WINDOW) return;
    moments.add({ time: now, mark: calls.mark(moments.oldest?.mark ?? 0) });
  }

  function callsPerSecond(tenantId: string, index: number): number {
    const { time, mark } = moments.base;
    return moments.perSecond(calls.total(tenantId, index) - calls.totalAt(tenantId, index, mark), time);
  }

  sample();
  return { sample, callsPerSecond };
}

/** Moments of a sliding window, and rates over it. */
class SlidingWindow<T extends { readonly time: number }> {
  readonly #windowMs: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #start: T;
  /** Oldest first. */
  readonly #moments: T[] = [];

  /** @param start the start of the process */
  constructor(windowMs: number, clock: Pick<Clock, 'monotonic'>, start: T) {
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#start = start;
    if (clock.monotonic() <= windowMs) this.#moments.push(start);
  }

  get oldest(): T | undefined {
    return this.#moments[0];
  }

  get latest(): T | undefined {
    return this.#moments.at(-1);
  }

  /** Drops the moments that are older than needed. */
  add(moment: T): void {
    const moments = this.#moments;
    while (moments[1] !== undefined && moment.time - moments[1].time >= this.#windowMs) moments.shift();
    moments.push(moment);
  }

  /** The newest moment that is at least a window old, or else the oldest. */
  get base(): T {
    const now = this.#clock.monotonic();
    const found = this.#moments.findLast(({ time }) => now - time >= this.#windowMs);
    return found ?? this.#moments[0] ?? this.#start;
  }

  /** @param since when counting of `calls` began. Calls before it count as outside the window. */
  perSecond(calls: number, since: number): number {
    const now = this.#clock.monotonic();
    const elapsed = Math.max(now - since, Math.min(now, this.#windowMs));
    return elapsed > 0 ? (calls / elapsed) * 1000 : 0;
  }
}
