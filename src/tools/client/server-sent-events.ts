/** One event of a stream (HTML, section 9.2). */
export interface ServerSentEvent {
  readonly event: string;
  readonly data: string;
  /** The last event id so far. */
  readonly id?: string;
}

/** Longest event, in characters. A longer one is not from a server of ours. */
const MAX_LENGTH = 4 * 1024 * 1024;
const LINE_END = /\r\n|\n|\r/g;

/** Parses a stream of events. Comments and unknown fields are skipped. */
export class ServerSentEventParser {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id: string | undefined;

  /**
   * Returns the events that a piece of text completes.
   * @throws {RangeError} when an event has no end
   */
  *read(text: string): Generator<ServerSentEvent, void, undefined> {
    const all = this.#rest + text;
    let from = 0;
    for (const { 0: end, index } of all.matchAll(LINE_END)) {
      // A line feed may follow in the next piece.
      if (end === '\r' && index === all.length - 1) break;
      const event = this.#line(all.slice(from, index));
      from = index + end.length;
      if (event !== undefined) yield event;
    }
    this.#rest = all.slice(from);
    if (this.#rest.length + this.#data.reduce((sum, { length }) => sum + length, 0) > MAX_LENGTH) {
      throw new RangeError('an event of the stream has no end');
    }
  }

  #line(line: string): ServerSentEvent | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return undefined;
  }

  #dispatch(): ServerSentEvent | undefined {
    const event = this.#event === '' ? 'message' : this.#event;
    const data = this.#data;
    this.#event = '';
    this.#data = [];
    if (data.length === 0) return undefined;
    return { event, data: data.join('\n'), ...(this.#id !== undefined && { id: this.#id }) };
  }
}
