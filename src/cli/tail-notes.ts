import type { TailEvent, TailOpen } from '../protocol/streams.ts';
import { UNKNOWN_TENANT } from './tenant.ts';
import { counted, some } from './words.ts';

/** A tail that shows nothing for so long says why, in milliseconds. */
const QUIET_MS = 10_000;
/** A process that takes part does so within this time, in milliseconds. */
const JOINING_MS = 3000;

const ENDS: Readonly<Record<string, string>> = {
  expired: 'The time is over.',
  budget: 'All lines asked for are here.',
  revoked: 'The credential has expired or was revoked.',
  shutdown: 'The service shuts down.',
};

interface Saying {
  readonly note: (text: string) => void;
  /** Formats the time at which the tail ends. */
  readonly clock: (open: TailOpen) => string;
  readonly now: () => number;
  readonly tenant: string | undefined;
}

/**
 * What a person is told beside the lines: which processes take part, which are missing, and, if no line came, that the
 * categories were not called. The server sends its own counts at the end, but after Ctrl-C they are not received any more.
 */
export class TailNotes {
  endedEarly = false;
  readonly #saying: Saying;
  #open: TailOpen | undefined;
  #openedAt = 0;
  #lines = 0;
  #dropped = 0;
  #gathered = false;
  #quiet = true;
  readonly #joined = new Set<string>();
  readonly #speaking = new Set<string>();

  constructor(saying: Saying) {
    this.#saying = saying;
  }

  take({ event, data }: TailEvent): void {
    const { note, clock, now } = this.#saying;
    if (event === 'open') {
      this.#open = data;
      this.#openedAt = now();
      note(`Tailing ${some(data.categories)} in ${processes(data.instances)} until ${clock(data)}; Ctrl-C ends it.`);
      if (data.tenantKnown === false) note(UNKNOWN_TENANT);
    } else if (event === 'line') {
      this.#lines += 1;
      this.#speaking.add(data.instance);
    } else if (event === 'dropped') {
      if (this.#dropped === 0) note('Lines over the rate (--rate N), and lines that are read too slowly, are dropped.');
      this.#dropped += data.count;
      note(`${counted(data.count, 'line was', 'lines were')} dropped.`);
    } else if (event === 'instance') this.#instance(data.id, data.state);
    else {
      this.#dropped = Math.max(this.#dropped, data.dropped);
      this.endedEarly = data.reason === 'revoked' || data.reason === 'shutdown';
      note(ENDS[data.reason] ?? `Ended: ${data.reason}.`);
    }
  }

  /** To be called now and then. */
  tick(): void {
    const { note, now } = this.#saying;
    if (this.#open === undefined) return;
    const waited = now() - this.#openedAt;
    const missing = this.#open.instances - this.#joined.size;
    if (!this.#gathered && waited >= JOINING_MS) {
      this.#gathered = true;
      if (missing > 0) note(`${this.#joined.size} of ${processes(this.#open.instances)} take part so far.`);
    }
    if (this.#quiet && waited >= QUIET_MS) {
      this.#quiet = false;
      if (this.#isSilent) note(`No line for ${QUIET_MS / 1000}s: ${this.#silence()}.`);
    }
  }

  /** `undefined` where the tail did not begin. */
  summary(): string | undefined {
    if (this.#open === undefined) return undefined;
    if (this.#isSilent && this.#joined.size > 0) return `No line: ${this.#silence()}.`;
    return `${counted(this.#lines, 'line')} from ${processes(this.#speaking.size)}, ${this.#dropped} dropped.`;
  }

  get #isSilent(): boolean {
    return this.#lines === 0 && this.#dropped === 0;
  }

  /** Processes of the beginning are counted; of a large fleet their names would fill the screen. */
  #instance(id: string, state: 'joined' | 'left'): void {
    const { note } = this.#saying;
    if (state === 'left') {
      this.#joined.delete(id);
      note(`Process ${id} left.`);
      return;
    }
    this.#joined.add(id);
    if (this.#gathered) {
      note(`Process ${id} joined.`);
      return;
    }
    const asked = this.#open?.instances ?? 0;
    if (this.#joined.size < asked) return;
    this.#gathered = true;
    if (asked > 1) note(`All ${processes(asked)} take part.`);
  }

  #silence(): string {
    const { categories = [] } = this.#open ?? {};
    const { tenant } = this.#saying;
    const what = categories.length === 1 ? `${categories[0]} was` : `none of ${categories.length} categories was`;
    const not = categories.length === 1 ? 'not called' : 'called';
    return `${what} ${not}${tenant === undefined ? '' : ` for tenant ${tenant}`} in ${processes(this.#joined.size)}`;
  }
}

function processes(count: number): string {
  return counted(count, 'process', 'processes');
}
