import { isRdcpError } from '../../../../client.ts';
import type { TailEndReason } from '../../../../wire/audit-messages.ts';
import { describeCalls } from '../../../../wire/call-counts.ts';
import type { TailCounts, TailEvent, TailLine, TailNow } from '../../../../wire/streams.ts';
import { counted } from '../../../../wire/words/count.ts';
import { reachText, tailEndText } from '../../../../wire/words/tail.ts';
import type { Filled } from '../../../client/fields.ts';
import { askedForMs } from '../../../client/passing.ts';
import { Follower, type FollowerState, type Timing } from '../../state/follower.ts';
import { partWords } from '../../state/part.ts';
import { type Problem, problemOf } from '../../state/problem.ts';
import { LineLog } from './line-log.ts';
import type { LineRow } from './row.ts';

export interface TailSettings extends Pick<Filled, 'target' | 'filter' | 'when'> {
  readonly categories: readonly string[];
  /** Duration in seconds. */
  readonly seconds: number;
  /** Most lines a second. @default the server's */
  readonly rate?: number;
  /** Whether the lines also go to the service's own outputs. */
  readonly log: boolean;
  /** First recorded lines of so many seconds. @default none */
  readonly since?: number;
  /** Whether it ends with those. @default false */
  readonly past?: boolean;
  /** Whose lines. @default everybody's, or the credential's own tenant's */
  readonly tenant?: string | undefined;
}

interface TailSessionParts extends Timing {
  readonly open: (settings: TailSettings, signal: AbortSignal) => AsyncIterable<TailEvent>;
  /** Called with every change, which may be a thousand times a second. */
  readonly changed: () => void;
  /** The name of a process. */
  readonly nameOf: (process: string) => string;
}

export type TailPhase = 'idle' | 'opening' | 'running' | 'lost' | 'ended';

/** Up to so many lines in that time, in milliseconds, can be read out. */
const QUIET_LINES = 5;
const QUIET_MS = 10_000;

type End = TailEndReason | 'stopped' | 'refused';

/** One tail after the other, each over as many connections as it takes, and the lines that they brought. */
export class TailSession {
  readonly log = new LineLog();
  phase: TailPhase = 'idle';
  /** The error because of which it could not begin or go on. */
  problem: Problem | undefined;
  /** The end of the tail, in milliseconds since the epoch. */
  deadline = 0;
  /** The settings of the running tail, or of the last one. */
  settings: TailSettings = { categories: [], seconds: 0, log: false };
  /** Processes that sent their lines, and whether they still do, in the order in which they came. */
  readonly processes = new Map<string, boolean>();
  /** Processes that were asked for their lines. */
  asked = 0;
  dropped = 0;
  /** What became of the calls, as long as there is no line. */
  #counts: TailCounts | undefined;
  #openedAt = 0;
  readonly #parts: TailSessionParts;
  readonly #follower: Follower<TailEvent>;
  /** Whether the server has opened it once. */
  #isOpen = false;
  /** The times of the last few lines. */
  readonly #arrivals: number[] = [];

  constructor(parts: TailSessionParts) {
    this.#parts = parts;
    const { open, now } = parts;
    this.#follower = new Follower<TailEvent>({
      ...parts,
      open: (_, signal) => {
        const { since: __, past: ___, ...again } = this.settings;
        const seconds = Math.ceil((this.deadline - now()) / 1000);
        return open({ ...(this.#isOpen ? again : this.settings), seconds }, signal);
      },
      receive: (event) => this.#receive(event),
      changed: (state) => this.#linkChanged(state),
      // A tail that never began is not tried again, nor one of the past. After a later limit it is: the server may still count the lost connection.
      isFinal: (error) =>
        !this.#isOpen ||
        this.settings.past === true ||
        (isRdcpError(error) && error.status < 500 && error.status !== 429),
      askedFor: (error) => askedForMs(error, now()),
    });
  }

  get isRunning(): boolean {
    return this.phase === 'opening' || this.phase === 'running' || this.phase === 'lost';
  }

  /** Whose work, which lines and which processes it is for, in words; empty for all. */
  get part(): string {
    return partWords(this.settings);
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
    this.dropped = 0;
    this.#counts = undefined;
    this.#isOpen = false;
    this.phase = 'opening';
    this.#follower.start();
  }

  /** Shows the lines of a tail from before the page was loaded. */
  restore(settings: TailSettings, rows: readonly LineRow[]): void {
    this.settings = settings;
    this.phase = 'ended';
    for (const row of rows) this.log.restore(row);
    this.#note('The lines above are from before this page was loaded again');
  }

  /** Closes the connection, which ends the tail on the server. */
  stop(): void {
    if (this.isRunning) this.#end('stopped');
  }

  /** Ends it, and forgets its lines. */
  reset(): void {
    this.stop();
    this.log.release(this.#parts.now());
    this.log.clear();
    this.phase = 'idle';
    this.problem = undefined;
    this.processes.clear();
    this.dropped = 0;
    this.#parts.changed();
  }

  /** Tries at once where it waits for the next attempt. */
  wake(): void {
    this.#follower.wake();
  }

  #end(reason: End): void {
    this.phase = 'ended';
    this.#follower.stop();
    this.#noteSilence('No line');
    this.#counts = undefined;
    this.#note(`The tail has ended: ${tailEndText(reason)}`);
  }

  #noteSilence(what: string): void {
    if (this.#counts === undefined) return;
    const { instances: counted, categories: counts } = this.#counts;
    const seconds = (this.#parts.now() - this.#openedAt) / 1000;
    const asked = Math.max(this.asked, counted);
    this.#note(`${what}: ${describeCalls({ ...this.settings, counts, counted, asked, seconds })}`);
  }

  #note(text: string, isWarning = false): void {
    this.log.note(text, isWarning, this.#parts.now());
    this.#parts.changed();
  }

  #receive({ event, data }: TailEvent): void {
    if (event === 'line') this.#line(data);
    else if (event === 'dropped') {
      this.dropped += data.count;
      this.#note(
        `${counted(data.count, 'line')} dropped: over the rate, too fast for this page, or lost while the store was away`,
        true,
      );
    } else if (event === 'instance') {
      this.processes.set(data.id, data.state === 'joined');
      this.#note(`${this.#parts.nameOf(data.id)} ${data.state}`, data.state === 'left');
    } else if (event === 'counts') {
      const isFirst = !hasUnmatched(this.#counts);
      this.#counts = data;
      // It may have been narrowed to work that there is none of.
      if (isFirst && hasUnmatched(data)) this.#noteSilence('No line yet');
    } else if (event === 'now') this.#now(data);
    else if (event === 'end') this.#end(data.reason);
    else if (event === 'start') {
      this.asked = data.instances;
      this.#counts = undefined;
      this.#openedAt = this.#parts.now();
      this.phase = 'running';
      const beginning = `Tail of ${data.categories.join(', ')}${this.part && ` for ${this.part}`}`;
      this.#note(this.#isOpen ? 'Connected again; lines in between are missing' : beginning);
      this.#isOpen = true;
    }
  }

  #now({ instances: { asked, answered }, reachesBack }: TailNow): void {
    if (answered < asked) this.#note(`Recorded lines of ${answered} of ${asked} processes`, true);
    if (reachesBack !== undefined) this.#note(reachText(reachesBack), true);
    if (this.settings.past !== true) this.#note('Now: live lines from here on');
  }

  #line(line: TailLine): void {
    this.#counts = undefined;
    this.log.line(line, this.#parts.nameOf(line.instance));
    this.#arrivals.push(this.#parts.now());
    if (this.#arrivals.length > QUIET_LINES) this.#arrivals.shift();
    this.#parts.changed();
  }

  #linkChanged(link: FollowerState): void {
    if (link.state === 'connecting') {
      this.problem = undefined;
      if (this.deadline <= this.#parts.now()) this.#end('expired');
      else this.#parts.changed();
      return;
    }
    if (link.state === 'live') return;
    for (const id of this.processes.keys()) this.processes.set(id, false);
    if (!('error' in link)) return;
    this.problem = problemOf(link.error, this.#parts.now());
    if (link.state === 'stopped') {
      this.#end('refused');
      return;
    }
    // One note for all attempts in a row.
    if (this.phase !== 'lost') this.#note(this.problem.title, true);
    this.phase = 'lost';
  }
}

function hasUnmatched(counts: TailCounts | undefined): boolean {
  return Object.values(counts?.categories ?? {}).some(({ unmatched }) => unmatched > 0);
}
