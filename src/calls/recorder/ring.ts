/** An entry as it was added. */
export interface RingEntry {
  /** When its work ended, in milliseconds since the epoch. */
  readonly endedAt: number;
  readonly failed: boolean;
  readonly milliseconds: number;
  /** Indexes of the categories that it has lines of. */
  readonly categories: readonly number[];
  /** The work and its lines. */
  readonly text: string;
}

/** An entry whose text is read when it is asked for. */
export interface StoredEntry extends Omit<RingEntry, 'text'> {
  text(): string;
}

// Layout of an entry: length of the whole, time of the end, duration, whether it failed, number of categories, each of them, text.
// A length of 0 says that the next entry is at the beginning of the memory.
const AT = { length: 0, endedAt: 4, milliseconds: 12, failed: 20, count: 22, categories: 24 } as const;
const FAILED = 1;

/**
 * A ring of bytes outside the heap: a new entry takes the place of the oldest ones. Positions only grow, so that who reads while
 * entries are added can tell whether one still is there.
 */
export class Ring {
  readonly #size: number;
  /** Made with the first entry, since it is large and many processes never record. */
  #memory: Buffer | undefined;
  /** Position of the oldest entry, and the one behind the newest. */
  #first = 0;
  #end = 0;
  #entries = 0;
  /** When the newest of the entries ended that had to make room. */
  #lostUntil: number | undefined;

  /** @param size in bytes */
  constructor(size: number) {
    this.#size = size;
  }

  get entries(): number {
    return this.#entries;
  }

  get bytes(): number {
    return this.#end - this.#first;
  }

  /** Behind the newest entry. */
  get end(): number {
    return this.#end;
  }

  /** Until when entries are missing that had to make room; `undefined` if none had. */
  get lostUntil(): number | undefined {
    return this.#lostUntil;
  }

  /** @returns its position; `undefined` for one that is larger than the ring, and is not added */
  add({ endedAt, failed, milliseconds, categories, text }: RingEntry): number | undefined {
    const from = AT.categories + 2 * categories.length;
    const length = from + Buffer.byteLength(text);
    if (length + 4 > this.#size) return undefined;
    this.#memory ??= Buffer.allocUnsafeSlow(this.#size);
    const memory = this.#memory;
    this.#makeRoom(length);
    const position = this.#end;
    const start = position % this.#size;
    memory.writeUInt32LE(length, start + AT.length);
    memory.writeDoubleLE(endedAt, start + AT.endedAt);
    memory.writeDoubleLE(milliseconds, start + AT.milliseconds);
    memory.writeUInt16LE(failed ? FAILED : 0, start + AT.failed);
    memory.writeUInt16LE(categories.length, start + AT.count);
    for (const [place, index] of categories.entries()) memory.writeUInt16LE(index, start + AT.categories + 2 * place);
    memory.write(text, start + from);
    this.#end += length;
    this.#entries += 1;
    return position;
  }

  /** The entry at a position; `undefined` once it had to make room. */
  at(position: number): StoredEntry | undefined {
    return position < this.#first || this.#entries === 0 ? undefined : this.#read(position);
  }

  /** Drops the oldest entries that did not end between two times: before, or after as it seems once a clock was set back. */
  dropOutside(from: number, until: number): void {
    const isOutside = (endedAt: number) => endedAt < from || endedAt > until;
    while (this.#entries > 0 && isOutside(this.#endOf(this.#first))) this.#dropFirst();
  }

  clear(): void {
    while (this.#entries > 0) this.#dropFirst();
    this.#lostUntil = undefined;
    this.#memory = undefined;
  }

  /**
   * The entries from the oldest to the newest, while others may be added. What has to make room meanwhile is left out.
   * @param end as it was before
   */
  *upTo(end: number): Generator<StoredEntry> {
    for (let at = this.#first; at < end; ) {
      if (at < this.#first) at = this.#first;
      at = this.#skipGap(at);
      if (at >= end || this.#memory === undefined) return;
      const length = this.#memory.readUInt32LE(at % this.#size);
      yield this.#read(at);
      at += length;
    }
  }

  #read(at: number): StoredEntry {
    const memory = this.#memory!;
    const start = at % this.#size;
    const length = memory.readUInt32LE(start + AT.length);
    const count = memory.readUInt16LE(start + AT.count);
    const from = start + AT.categories + 2 * count;
    const categories = Array.from({ length: count }, (_, place) =>
      memory.readUInt16LE(start + AT.categories + 2 * place),
    );
    return {
      endedAt: memory.readDoubleLE(start + AT.endedAt),
      milliseconds: memory.readDoubleLE(start + AT.milliseconds),
      failed: memory.readUInt16LE(start + AT.failed) === FAILED,
      categories,
      text: () => memory.toString('utf8', from, start + length),
    };
  }

  #endOf(at: number): number {
    return this.#memory!.readDoubleLE((this.#skipGap(at) % this.#size) + AT.endedAt);
  }

  /** Makes the bytes behind the newest entry free, and in one piece. */
  #makeRoom(length: number): void {
    const start = this.#end % this.#size;
    const untilEdge = this.#size - start;
    // An entry with the mark of a gap behind it.
    const gap = length + 4 > untilEdge ? untilEdge : 0;
    while (this.#entries > 0 && this.#end + gap + length - this.#first > this.#size) {
      this.#lostUntil = this.#endOf(this.#first);
      this.#dropFirst();
    }
    if (gap === 0) return;
    this.#memory!.writeUInt32LE(0, start);
    this.#end += gap;
    if (this.#entries === 0) this.#first = this.#end;
  }

  #dropFirst(): void {
    const at = this.#skipGap(this.#first);
    this.#first = at + this.#memory!.readUInt32LE(at % this.#size);
    this.#entries -= 1;
    if (this.#entries === 0) this.#first = this.#end;
  }

  #skipGap(at: number): number {
    const start = at % this.#size;
    if (this.#memory === undefined || this.#memory.readUInt32LE(start) !== 0) return at;
    return at + this.#size - start;
  }
}
