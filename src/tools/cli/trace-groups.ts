import type { TailLine } from '../../wire/streams.ts';
import { TimeOrder } from './time-order.ts';

const QUIET_MS = 1000;

/** Lines of several processes arrive mixed. Keeps those of a trace together, and in the order in which they were made. */
export class TraceGroups {
  readonly #traces = new Map<string, { readonly lines: TimeOrder; readonly arrivedAt: number }>();

  /** A line without a trace is shown at once. */
  add(line: TailLine, show: () => void, now: number): void {
    const { traceId } = line;
    if (traceId === undefined) {
      show();
      return;
    }
    const { lines = new TimeOrder() } = this.#traces.get(traceId) ?? {};
    lines.add(line, show, now);
    this.#traces.set(traceId, { lines, arrivedAt: now });
  }

  /** Shows the traces that have come to rest. Called several times a second, and at the end with infinity. */
  flush(now: number): void {
    for (const [trace, { lines, arrivedAt }] of this.#traces) {
      if (now - arrivedAt < QUIET_MS) continue;
      this.#traces.delete(trace);
      lines.flush(Number.POSITIVE_INFINITY);
    }
  }
}
