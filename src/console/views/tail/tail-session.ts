import type { TailLine } from '../../../protocol/streams.ts';
import type { Filter } from './filter.ts';
import { LineLog, type Note } from './line-log.ts';
import { type TailPhase, TailRun, type TailRunParts, type TailSettings } from './tail-run.ts';

/** Up to so many lines in that time, in milliseconds, can be read out. */
const QUIET_LINES = 5;
const QUIET_MS = 10_000;

/** A process that sent its lines. */
export interface TailProcess {
  readonly id: string;
  /** In the order in which they came, from 0. */
  readonly number: number;
  readonly here: boolean;
}

export type TailSessionParts = Pick<TailRunParts, 'open' | 'now' | 'after' | 'random'> & {
  /** Called with every change, which may be a thousand times a second. */
  readonly changed: () => void;
};

/** What the view of a tail shows. */
export class TailSession {
  readonly log = new LineLog();
  phase: TailPhase = { phase: 'idle' };
  /** Of the tail that runs, or the last one. */
  settings: TailSettings | undefined;
  readonly processes = new Map<string, TailProcess>();
  /** Processes that were asked for their lines. */
  asked = 0;
  dropped = 0;
  readonly #parts: TailSessionParts;
  #run: TailRun | undefined;
  /** When the last few lines came. */
  readonly #arrivals: number[] = [];

  constructor(parts: TailSessionParts) {
    this.#parts = parts;
  }

  /** Whether lines come so slowly that a screen reader can read them out. */
  get isQuiet(): boolean {
    const [oldest] = this.#arrivals;
    return this.#arrivals.length < QUIET_LINES || oldest === undefined || this.#parts.now() - oldest > QUIET_MS;
  }

  get isRunning(): boolean {
    return ['opening', 'running', 'lost'].includes(this.phase.phase);
  }

  start(settings: TailSettings): void {
    this.#run?.stop();
    this.settings = settings;
    this.resume();
    this.dropped = 0;
    this.#run = new TailRun(settings, {
      ...this.#parts,
      line: (line) => this.#line(line),
      note: (note) => this.#note(note),
      changed: (phase) => {
        this.phase = phase;
        this.#parts.changed();
      },
    });
  }

  stop(): void {
    this.#run?.stop();
  }

  wake(): void {
    this.#run?.wake();
  }

  pause(): void {
    this.log.hold();
    this.#parts.changed();
  }

  resume(): void {
    this.log.release(this.#parts.now());
    this.#parts.changed();
  }

  clear(): void {
    this.log.clear();
    this.dropped = 0;
    this.#parts.changed();
  }

  setFilter(filter: Filter | undefined): void {
    this.log.setFilter(filter);
    this.#parts.changed();
  }

  #line(line: TailLine): void {
    this.log.line(line);
    this.#arrivals.push(this.#parts.now());
    if (this.#arrivals.length > QUIET_LINES) this.#arrivals.shift();
    this.#parts.changed();
  }

  #note(note: Note): void {
    if (note.type === 'dropped') this.dropped += note.count;
    if (note.type === 'began') {
      this.asked = note.instances;
      this.#allLeft();
    }
    if (note.type === 'joined' || note.type === 'left') {
      const number = this.processes.get(note.instance)?.number ?? this.processes.size;
      this.processes.set(note.instance, { id: note.instance, number, here: note.type === 'joined' });
    }
    if (note.type === 'lost' || note.type === 'ended') this.#allLeft();
    this.log.note(note, this.#parts.now());
    this.#parts.changed();
  }

  #allLeft(): void {
    for (const [id, process] of this.processes) this.processes.set(id, { ...process, here: false });
  }
}
