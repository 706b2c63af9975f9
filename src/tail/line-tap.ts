import { type Call, recordOf } from '../emit/record.ts';
import type { Tap } from '../emit/taps.ts';
import { escapeUnprintable } from '../printable.ts';
import type { TailLine } from '../protocol/streams.ts';
import { LineRate } from './rate.ts';
import { type Tapped, Tapping } from './tapping.ts';
import type { LineBatch, LineSpec } from './types.ts';

/** Most characters of lines that wait to be fetched. */
const MAX_WAITING = 128 * 1024;

const NOTHING: LineBatch = { lines: [], dropped: 0 };

export interface LineTapOptions extends Tapped {
  /** Id of this process. */
  readonly instanceId: string;
  readonly now: () => number;
  /** The logger of another library that makes the calls of a category. @default none */
  readonly sourceOf?: ((category: string) => string | undefined) | undefined;
}

/** Collects the lines of a tail in this process, within its rate and a bounded buffer. */
export class LineTap {
  readonly #options: LineTapOptions;
  readonly #rate: LineRate;
  readonly #tapping: Tapping;
  #lines: string[] = [];
  #waiting = 0;
  #dropped = 0;

  constructor(options: LineTapOptions, { categories, tenantId, rate, log }: LineSpec) {
    this.#options = options;
    this.#rate = new LineRate(rate, categories);
    this.#tapping = new Tapping(
      options,
      categories,
      ({ name }): Tap => ({
        logs: log,
        matches: (tenant) => tenantId === undefined || tenantId === tenant,
        admits: () => this.#admits(name),
        take: (_category, call) => this.#take(name, call),
      }),
    );
  }

  #admits(category: string): boolean {
    if (this.#waiting < MAX_WAITING && this.#rate.take(category)) return true;
    this.#dropped += 1;
    return false;
  }

  #take(name: string, call: Call): void {
    const { severity: _, ...record } = recordOf(call, this.#options.now());
    const { instanceId, sourceOf } = this.#options;
    const source = sourceOf?.(name);
    const line: TailLine = { ...record, instance: instanceId, ...(source !== undefined && { source }) };
    const text = escapeUnprintable(JSON.stringify(line));
    this.#lines.push(text);
    this.#waiting += text.length;
  }

  /** Called at intervals. */
  tick(milliseconds: number): void {
    this.#rate.refill(milliseconds);
  }

  /** Taps categories that were registered since. */
  look(): void {
    this.#tapping.look();
  }

  /** What came since the last call. */
  fetch(): LineBatch {
    if (this.#lines.length === 0 && this.#dropped === 0) return NOTHING;
    const batch = { lines: this.#lines, dropped: this.#dropped };
    this.#lines = [];
    this.#waiting = 0;
    this.#dropped = 0;
    return batch;
  }

  end(): void {
    this.#tapping.end();
  }
}
