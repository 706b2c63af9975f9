import { type CountedPart, describeCalls } from '../../wire/call-counts.ts';
import { nameSome } from '../../wire/printable.ts';
import type { TailCounts, TailEvent, TailNow, TailOpen } from '../../wire/streams.ts';
import { counted, processesText } from '../../wire/words/count.ts';
import { reachText, tailEndText } from '../../wire/words/tail.ts';

/** After this time without a line a tail says why, in milliseconds. */
const QUIET_MS = 10_000;
/** A process that takes part does so within this time, in milliseconds. */
const JOINING_MS = 3000;
/** Least time between two notes about dropped lines, in milliseconds. */
const DROPPED_MS = 10_000;

/** Ends that were asked for. */
const COMPLETE: ReadonlySet<string> = new Set(['expired', 'budget', 'past']);

interface TailNotesOptions {
  readonly note: (text: string) => void;
  readonly clock: (open: TailOpen) => string;
  readonly now: () => number;
  readonly past?: boolean | undefined;
  readonly part: CountedPart;
  /** A process as people know it; `undefined` for one of another service whose tail names it. */
  readonly nameOf: (id: string) => string | undefined;
  /** Whether a number or a share of the processes was asked for, so that those that take part are named. @default false */
  readonly chooses?: boolean;
}

/** Status messages of a tail. Counts lines itself: after Ctrl-C the server's counts do not arrive. */
export class TailNotes {
  endedEarly = false;
  /** Whether the service has ended the tail because it stops, as in a rolling deployment. */
  interruptedByService = false;
  lines = 0;
  readonly #options: TailNotesOptions;
  #open: TailOpen | undefined;
  #openedAt = 0;
  #counts: TailCounts | undefined;
  #endsAt: number | undefined;
  #dropped = 0;
  #droppedNoted = 0;
  #droppedNotedAt = Number.NEGATIVE_INFINITY;
  #isLost = false;
  #isOutage = false;
  #gathered = false;
  /** Whether it is still to be said that no line comes. */
  #quiet = true;
  readonly #joined = new Set<string>();
  readonly #speaking = new Set<string>();

  constructor(options: TailNotesOptions) {
    this.#options = options;
  }

  /** Until the tail was to end at first; `undefined` before it began. */
  get secondsLeft(): number | undefined {
    if (this.#endsAt === undefined) return undefined;
    return Math.max(0, Math.round((this.#endsAt - this.#options.now()) / 1000));
  }

  get isUnfinished(): boolean {
    return (this.secondsLeft ?? 0) >= 1;
  }

  /** The connection is gone, or the service; the tail is asked for again. */
  lost(why: string): void {
    if (!this.#isLost) this.#options.note(`${why}; asking again until it answers.`);
    this.#isLost = true;
    this.endedEarly = true;
    this.#joined.clear();
  }

  outage(isOutage: boolean): void {
    if (isOutage === this.#isOutage) return;
    this.#isOutage = isOutage;
    const missing = 'The service cannot reach its store: lines of other processes are missing.';
    this.#options.note(isOutage ? missing : 'The service reaches its store again.');
  }

  take({ event, data }: TailEvent): void {
    const { note } = this.#options;
    if (event === 'start') this.#start(data);
    else if (event === 'line') {
      this.lines += 1;
      this.#speaking.add(data.instance);
    } else if (event === 'dropped') {
      if (this.#dropped === 0)
        note('Lines over the rate (--rate N), read too slowly, or lost while the store was away, are dropped.');
      this.#dropped += data.count;
      this.#noteDropped();
    } else if (event === 'instance') this.#instance(data.id, data.state);
    else if (event === 'counts') this.#counts = data;
    else if (event === 'now') this.#pastOver(data);
    else {
      this.#dropped = Math.max(this.#dropped, data.dropped);
      this.endedEarly = !COMPLETE.has(data.reason);
      this.interruptedByService = data.reason === 'shutdown';
      if (this.interruptedByService && this.isUnfinished) this.lost('The service shuts down');
      else note(`Ended: ${tailEndText(data.reason)}.`);
    }
  }

  /** Called about once a second or more often: says what the passing of time shows. */
  tick(): void {
    const { note, now } = this.#options;
    if (this.#open === undefined) return;
    this.#noteDropped();
    const waited = now() - this.#openedAt;
    const { instances } = this.#open;
    if (!this.#gathered && waited >= JOINING_MS) {
      this.#gathered = true;
      if (this.#joined.size < instances) note(`${this.#joined.size} of ${processesText(instances)} take part so far.`);
    }
    if (this.#quiet && waited >= QUIET_MS) {
      this.#quiet = false;
      if (this.#isSilent) note(`No line for ${QUIET_MS / 1000}s: ${this.#silence(this.#open)}.`);
    }
  }

  /** `undefined` where the tail did not begin. */
  summary(): string | undefined {
    if (this.#open === undefined) return undefined;
    if (this.#isSilent && this.#joined.size > 0) return `No line: ${this.#silence(this.#open)}.`;
    return `${counted(this.lines, 'line')} from ${processesText(this.#speaking.size)}, ${this.#dropped} dropped.`;
  }

  #start(open: TailOpen): void {
    const { note, clock, now, past = false } = this.#options;
    this.#endsAt ??= Date.parse(open.expiresAt);
    this.#gathered = false;
    this.interruptedByService = false;
    this.#isLost = false;
    this.endedEarly = false;
    this.#open = open;
    this.#counts = undefined;
    this.#openedAt = now();
    const what = `${nameSome(open.categories)} in ${processesText(open.instances)}`;
    note(past ? `Reading what is recorded of ${what}.` : `Tailing ${what} until ${clock(open)}; Ctrl-C ends it.`);
  }

  #pastOver({ instances: { asked, answered }, reachesBack }: TailNow): void {
    const { note, now } = this.#options;
    if (answered < asked) note(`Recorded lines of ${answered} of ${processesText(asked)}.`);
    if (reachesBack !== undefined) note(`${reachText(reachesBack)}; older lines are not in memory.`);
    if (this.lines === 0) note('No recorded line matches.');
    this.#quiet = true;
    this.#openedAt = now();
  }

  #noteDropped(): void {
    const { note, now } = this.#options;
    const count = this.#dropped - this.#droppedNoted;
    if (count === 0 || now() - this.#droppedNotedAt < DROPPED_MS) return;
    this.#droppedNoted = this.#dropped;
    this.#droppedNotedAt = now();
    note(`${counted(count, 'line was', 'lines were')} dropped.`);
  }

  get #isSilent(): boolean {
    return this.lines === 0 && this.#dropped === 0;
  }

  /** Processes of the beginning are counted; of a large fleet their names would fill the screen. */
  #instance(id: string, state: 'joined' | 'left'): void {
    const { note, nameOf, chooses } = this.#options;
    if (state === 'left') this.#joined.delete(id);
    else this.#joined.add(id);
    if (state === 'left' || this.#gathered) {
      if (nameOf(id) !== undefined) note(`Process ${nameOf(id)} ${state}.`);
      return;
    }
    const asked = this.#open?.instances ?? 0;
    if (this.#joined.size < asked) return;
    this.#gathered = true;
    if (chooses === true) note(`Chosen: ${nameSome([...this.#joined].map((each) => nameOf(each) ?? each))}.`);
    else if (asked > 1) note(`All ${processesText(asked)} take part.`);
  }

  #silence({ categories, instances }: TailOpen): string {
    const { instances: counted = 0, categories: counts = {} } = this.#counts ?? {};
    const seconds = (this.#options.now() - this.#openedAt) / 1000;
    const asked = Math.max(instances, counted);
    return describeCalls({ ...this.#options.part, categories, counts, seconds, counted, asked });
  }
}
