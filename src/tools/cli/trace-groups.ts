import type { TailLine } from '../../wire/streams.ts';

/** A trace without a line for this time is shown, in milliseconds. */
const QUIET_MS = 1000;

interface Group {
  readonly lines: { readonly show: () => void; readonly at: number }[];
  /** When the last one arrived. */
  arrivedAt: number;
}

/** Lines of several processes arrive mixed. Keeps those of a trace together, and in the order in which they were made. */
export class TraceGroups {
  /** By trace. */
  readonly #groups = new Map<string, Group>();

  /** A line without a trace is shown at once. */
  add({ traceId, timestamp }: TailLine, show: () => void, now: number): void {
    if (traceId === undefined) {
      show();
      return;
    }
    const group = this.#groups.get(traceId) ?? { lines: [], arrivedAt: now };
    group.lines.push({ show, at: Date.parse(timestamp) });
    group.arrivedAt = now;
    this.#groups.set(traceId, group);
  }

  /** Shows the traces that have come to rest. Called several times a second, and at the end with infinity. */
  flush(now: number): void {
    for (const [trace, { lines, arrivedAt }] of this.#groups) {
      if (now - arrivedAt < QUIET_MS) continue;
      this.#groups.delete(trace);
      lines.sort((one, other) => one.at - other.at);
      for (const { show } of lines) show();
    }
  }
}
