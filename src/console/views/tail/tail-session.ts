import { isRdcpError } from '../../../client.ts';
import type { TailEndReason } from '../../../protocol/audit-messages.ts';
import type { TailEvent, TailLine } from '../../../protocol/streams.ts';
import { counted } from '../../parts/counted.ts';
import { type Problem, problemOf } from '../../state/problem.ts';
import { retryDelay } from '../../state/retry-delay.ts';
import { LineLog } from './line-log.ts';

export interface TailSettings {
  readonly categories: readonly string[];
  /** For how long, in seconds. */
  readonly seconds: number;
  /** Most lines a second. @default the server's */
  readonly rate?: number | undefined;
  /** Whether the lines also go to the service's own outputs. */
  readonly log: boolean;
}

export interface TailSessionParts {
  readonly open: (settings: TailSettings, signal: AbortSignal) => AsyncIterable<TailEvent>;
  /** Called with every change, which may be a thousand times a second. */
  readonly changed: () => void;
  /** What a process is called. */
  readonly nameOf: (process: string) => string;
  /** In milliseconds since the epoch. */
  readonly now: () => number;
  readonly after: (milliseconds: number, task: () => void) => () => void;
  readonly random: () => number;
}

export type TailPhase = 'idle' | 'opening' | 'running' | 'lost' | 'ended';

/** Up to so many lines in that time, in milliseconds, can be read out. */
const QUIET_LINES = 5;
const QUIET_MS = 10_000;

type End = TailEndReason | 'stopped' | 'refused';

/** Where the reason does not speak for itself. */
const ENDS: { readonly [R in End]?: string } = {
  expired: 'the time is over',
  revoked: 'the credential is no longer accepted',
  shutdown: 'the server shuts down',
};

/** One tail after the other, each over as many connections as it takes, and what they have shown. */
export class TailSession {
  readonly log = new LineLog();
  phase: TailPhase = 'idle';
  /** Why it could not begin or go on. */
  problem: Problem | undefined;
  /** When it is over, in milliseconds since the epoch. */
  deadline = 0;
  /** Of the tail that runs, or the last one. */
  settings: TailSettings | undefined;
  /** Those that sent their lines, and whether they still do, in the order in which they came. */
  readonly processes = new Map<string, boolean>();
  /** Processes that were asked for their lines. */
  asked = 0;
  dropped = 0;
  readonly #parts: TailSessionParts;
  #attempt: AbortController | undefined;
  #cancelTimer: (() => void) | undefined;
  /** Whether the server has opened it once. */
  #isOpen = false;
  #failures = 0;
  /** When the last few lines came. */
  readonly #arrivals: number[] = [];

  constructor(parts: TailSessionParts) {
    this.#parts = parts;
  }

  get isRunning(): boolean {
    return this.#attempt !== undefined || this.#cancelTimer !== undefined;
  }

  /** Whether lines come so slowly that a screen reader can read them out. */
  get isQuiet(): boolean {
    const [oldest = 0] = this.#arrivals;
    return this.#arrivals.length < QUIET_LINES || this.#parts.now() - oldest > QUIET_MS;
  }

  start(settings: TailSettings): void {
    this.stop();
    const now = this.#parts.now();
    this.log.release(now);
    this.settings = settings;
    this.deadline = now + settings.seconds * 1000;
    this.problem = undefined;
    this.dropped = 0;
    this.#isOpen = false;
    this.#failures = 0;
    this.phase = 'opening';
    void this.#connect(settings);
  }

  /** Closes the connection, which ends the tail on the server. */
  stop(): void {
    if (this.isRunning) this.#end('stopped');
  }

  /** Tries at once where it waits for the next attempt. */
  wake(): void {
    if (this.#cancelTimer && this.settings) void this.#connect(this.settings);
  }

  #abandon(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#attempt?.abort();
    this.#attempt = undefined;
    for (const id of this.processes.keys()) this.processes.set(id, false);
  }

  #end(reason: End): void {
    this.#abandon();
    this.phase = 'ended';
    this.#note(`The tail has ended: ${ENDS[reason] ?? reason}`);
  }

  #note(text: string, isWarning = false): void {
    this.log.note(text, isWarning, this.#parts.now());
    this.#parts.changed();
  }

  async #connect(settings: TailSettings): Promise<void> {
    this.#abandon();
    const { open, now } = this.#parts;
    const seconds = Math.ceil((this.deadline - now()) / 1000);
    if (seconds <= 0) {
      this.#end('expired');
      return;
    }
    const attempt = new AbortController();
    this.#attempt = attempt;
    this.#parts.changed();
    try {
      for await (const event of open({ ...settings, seconds }, attempt.signal)) {
        if (this.#attempt !== attempt) return;
        this.#receive(event);
      }
    } catch (error) {
      if (this.#attempt === attempt) this.#failed(error, settings);
    }
  }

  #receive({ event, data }: TailEvent): void {
    if (event === 'line') this.#line(data);
    else if (event === 'dropped') {
      this.dropped += data.count;
      this.#note(`${counted(data.count, 'line', 'lines')} dropped: over the rate, or too fast for this page`, true);
    } else if (event === 'instance') {
      this.processes.set(data.id, data.state === 'joined');
      this.#note(`${this.#parts.nameOf(data.id)} ${data.state}`, data.state === 'left');
    } else if (event === 'end') this.#end(data.reason);
    else if (event === 'open') {
      this.asked = data.instances;
      this.phase = 'running';
      this.#note(
        this.#isOpen ? 'Connected again; lines in between are missing' : `Tail of ${data.categories.join(', ')}`,
      );
      this.#isOpen = true;
    }
  }

  #line(line: TailLine): void {
    this.#failures = 0;
    this.log.line(line);
    this.#arrivals.push(this.#parts.now());
    if (this.#arrivals.length > QUIET_LINES) this.#arrivals.shift();
    this.#parts.changed();
  }

  /** What was running is tried again; what never began, and what is no longer allowed, is over. */
  #failed(error: unknown, settings: TailSettings): void {
    const { now, after, random } = this.#parts;
    this.#abandon();
    this.problem = problemOf(error, now());
    if (!this.#isOpen || isFinal(error)) {
      this.#end('refused');
      return;
    }
    this.phase = 'lost';
    if (this.#failures === 0) this.#note(this.problem.title, true);
    this.#failures += 1;
    const askedForMs = this.problem.retryAt && this.problem.retryAt - now();
    const delay = retryDelay({ failures: this.#failures, askedForMs }, random());
    this.#cancelTimer = after(delay, () => {
      this.problem = undefined;
      void this.#connect(settings);
    });
  }
}

/** Whether another attempt would be answered the same way. A limit is not: the server may still count the lost connection. */
function isFinal(error: unknown): boolean {
  return isRdcpError(error) && error.status < 500 && error.status !== 429;
}
