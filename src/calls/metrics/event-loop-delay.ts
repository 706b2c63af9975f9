import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../../wire/time/clock.ts';

/** Sampling interval of the event loop, in milliseconds. */
const RESOLUTION_MS = 20;
const NANOSECONDS_PER_MS = 1e6;

/** The event-loop delay over a sliding window. */
export interface EventLoopDelay {
  /** Resets the older histogram once half a window has passed. */
  rotate(): void;
  /** Returns the 99th percentile in milliseconds, over half a window or more; `undefined` before the first sample. */
  p99(): number | undefined;
  close(): void;
}

/**
 * Node's histogram never drops old samples and cannot be merged. So two run half a window apart: the older one is read, and
 * reset once it covers a whole window. Their timer does not keep the process alive.
 */
export function createEventLoopDelay(windowMs: number, clock: Pick<Clock, 'monotonic'>): EventLoopDelay {
  let older = createHistogram();
  // Created on demand: each takes 0.4 MB.
  let younger: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let rotatedAt = clock.monotonic();
  return {
    rotate() {
      const now = clock.monotonic();
      if (now - rotatedAt < windowMs / 2) return;
      rotatedAt = now;
      if (younger === undefined) {
        younger = createHistogram();
        return;
      }
      [older, younger] = [younger, older];
      younger.reset();
    },
    p99() {
      // An empty histogram returns 511.
      if (older.count === 0) return undefined;
      // Node records the time between two timer runs, which includes the timer's interval.
      return Math.max(0, older.percentile(99) / NANOSECONDS_PER_MS - RESOLUTION_MS);
    },
    close() {
      older.disable();
      younger?.disable();
    },
  };
}

function createHistogram(): ReturnType<typeof monitorEventLoopDelay> {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return histogram;
}
