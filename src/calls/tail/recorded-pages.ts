import type { Past, PastLines } from '../recorder/types.ts';
import { type Lease, tapFilterOf, type WantedPage } from './fleet-messages.ts';
import { type Line, type LineSource, lineOfRecord } from './line.ts';

/** Most recorded lines that one process gives to a tail: the newest. */
const MAX_LINES = 50_000;
/** Most characters of the first page, which nobody has asked for. */
const FIRST_PAGE = 16 * 1024;

export interface RecordedPagesOptions extends LineSource {
  readonly past: Past;
  readonly now: () => number;
}

/** The recorded lines of this process, in pages. A page is sent when it is asked for, the first one unasked. */
export class RecordedPages {
  readonly #options: RecordedPagesOptions;
  readonly #lease: Lease;
  readonly #since: number;
  #found: PastLines | undefined;
  #asked: WantedPage | undefined = { from: 0, most: FIRST_PAGE };
  #sent: WantedPage | undefined;
  /** In seconds, where it is less than was asked for. */
  #reach: number | undefined;

  /** @param since in seconds */
  constructor(lease: Lease, options: RecordedPagesOptions, since: number) {
    this.#lease = lease;
    this.#options = options;
    this.#since = since;
  }

  /** Takes what was recorded up to now. */
  read(): void {
    const { past, now } = this.#options;
    const began = now();
    const { since } = past.reach;
    const reach = since === undefined ? this.#since : Math.round((began - since) / 1000);
    if (reach < this.#since) this.#reach = Math.max(0, reach);
    const query = { ...tapFilterOf(this.#lease), since: began - this.#since * 1000, limit: MAX_LINES };
    past.lines(query).then(
      (found) => {
        this.#found = found;
      },
      // As a process that does not answer.
      () => undefined,
    );
  }

  ask(asked: WantedPage): void {
    this.#asked = asked;
  }

  /** The page that was asked for, if any. */
  next() {
    if (this.#found === undefined || this.#asked === undefined) return undefined;
    const { lines: all, more } = this.#found;
    const { from, most } = this.#asked;
    this.#sent = this.#asked;
    this.#asked = undefined;
    const lines: Line[] = [];
    for (let chars = 0; chars < most && from + lines.length < all.length; ) {
      const { order: _, ...record } = all[from + lines.length]!;
      const line = lineOfRecord(record, this.#options, { recorded: true });
      lines.push(line);
      chars += line.text.length;
    }
    return {
      from,
      lines,
      count: lines.length,
      left: Math.max(0, all.length - from - lines.length),
      more,
      reach: this.#reach,
    };
  }

  /** The last page could not be sent. */
  failed(): void {
    this.#asked ??= this.#sent;
  }

  end(): void {
    this.#found = undefined;
    this.#asked = undefined;
  }
}
