import type { TailLine } from '../../wire/streams.ts';

/** Lines are held this long, in milliseconds, so that one of another process that was made earlier comes first. */
const HELD_MS = 1000;

export class TimeOrder {
  readonly #heldMs: number;
  #held: { readonly madeAt: number; readonly arrivedAt: number; readonly show: () => void }[] = [];

  constructor(heldMs = HELD_MS) {
    this.#heldMs = heldMs;
  }

  add({ timestamp }: Pick<TailLine, 'timestamp'>, show: () => void, now: number): void {
    // Another implementation may send a time that is none.
    this.#held.push({ madeAt: Date.parse(timestamp) || now, arrivedAt: now, show });
  }

  /** Shows the lines that were held for long enough, and those before them. Called several times a second, and at the end with infinity. */
  flush(now: number): void {
    const due = this.#held.filter(({ arrivedAt }) => now - arrivedAt >= this.#heldMs);
    if (due.length === 0) return;
    const newest = Math.max(...due.map(({ madeAt }) => madeAt));
    // The sort is stable: lines of one time stay in the order in which they came.
    const shown = this.#held.filter(({ madeAt }) => madeAt <= newest).sort((a, b) => a.madeAt - b.madeAt);
    this.#held = this.#held.filter(({ madeAt }) => madeAt > newest);
    for (const { show } of shown) show();
  }
}

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
