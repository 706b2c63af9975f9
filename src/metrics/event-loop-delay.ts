import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../clock.ts';

/** Milliseconds between two looks at the event loop. */
const RESOLUTION_MS = 20;
const NANOSECONDS_PER_MS = 1e6;

/** The event-loop delay of the last while, never of all time. */
export interface EventLoopDelay {
  /** Starts a histogram afresh when half a window has passed. */
  rotate(): void;
  /** 99th percentile, milliseconds, over at least half a window once that has passed; `undefined` before any sample. */
  p99(): number | undefined;
  close(): void;
}

/**
 * Node's histogram can be reset but forgets nothing by itself, and two of them cannot be added up. So there are two,
 * started half a window apart: the older one is read, and started afresh when it has covered a whole window. Node runs
 * them on a timer of libuv that does not keep the process alive.
 */
export function createEventLoopDelay(windowMs: number, clock: Pick<Clock, 'monotonic'>): EventLoopDelay {
  let older = started();
  // Made when it is needed: each takes 0.4 MB.
  let younger: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let rotatedAt = clock.monotonic();
  return {
    rotate() {
      const now = clock.monotonic();
      if (now - rotatedAt < windowMs / 2) return;
      rotatedAt = now;
      if (younger === undefined) {
        younger = started();
        return;
      }
      [older, younger] = [younger, older];
      younger.reset();
    },
    p99() {
      // An empty histogram answers 511.
      if (older.count === 0) return undefined;
      // Node records the time between two runs of its timer, which holds the timer's own interval.
      return Math.max(0, older.percentile(99) / NANOSECONDS_PER_MS - RESOLUTION_MS);
    },
    close() {
      older.disable();
      younger?.disable();
    },
  };
}

function started(): ReturnType<typeof monitorEventLoopDelay> {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return histogram;
}
