import type { Clock, Delay } from '../../wire/time/clock.ts';

/** Lines of a piece of work that failed, written to one output. */
export interface RecordedFailure {
  readonly category: string;
  readonly lines: number;
  readonly workId: string;
  /** What the work was and how it ended: `POST /orders 500 after 1.2 s, TypeError`. */
  readonly outcome: string;
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
}

/** Failures of a category whose lines were written since the last report. Outcome, work and trace are those of the newest. */
export interface FailureReport extends RecordedFailure {
  readonly failures: number;
  /** When the first of them was written; milliseconds since the epoch. */
  readonly since: number;
  readonly traceUrl?: string | undefined;
}

export interface FailureReportsOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** Address of a trace, with `{traceId}` and perhaps `{spanId}` in it. */
  readonly traceUrl?: string | undefined;
}

/** Shortest time between two reports of a category, in milliseconds. */
const PAUSE_MS = 60_000;

/** Reports the first failure of a category at once, and those that follow together, once a minute. */
export class FailureReports {
  readonly #options: FailureReportsOptions;
  readonly #send: (report: FailureReport) => void;
  /** By category, from its last report on for a minute. */
  readonly #waiting = new Map<string, FailureReport | undefined>();

  constructor(options: FailureReportsOptions, send: (report: FailureReport) => void) {
    this.#options = options;
    this.#send = send;
  }

  add(failure: RecordedFailure): void {
    const { category, lines, workId } = failure;
    const isPaused = this.#waiting.has(category);
    const before = this.#waiting.get(category);
    this.#waiting.set(category, {
      ...failure,
      // Several activations write lines of one piece of work.
      failures: (before?.failures ?? 0) + (before?.workId === workId ? 0 : 1),
      lines: (before?.lines ?? 0) + lines,
      since: before?.since ?? this.#options.clock.now(),
    });
    if (!isPaused) this.#report(category);
  }

  #report(category: string): void {
    const report = this.#waiting.get(category);
    if (report === undefined) {
      this.#waiting.delete(category);
      return;
    }
    this.#waiting.set(category, undefined);
    this.#options.delay(PAUSE_MS, () => this.#report(category));
    const { traceId = '', spanId = '' } = report;
    const template = traceId === '' ? undefined : this.#options.traceUrl;
    const traceUrl = template?.replaceAll('{traceId}', traceId).replaceAll('{spanId}', spanId);
    this.#send({ ...report, traceUrl });
  }
}
