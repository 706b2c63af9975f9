import type { ServerResponse } from 'node:http';
import { EVENT_STREAM_MEDIA_TYPE, HEADERS } from '../../wire/constants.ts';
import type { Delay } from '../../wire/time/clock.ts';
import { contentType } from '../error-answer.ts';
import type { Time } from '../parts.ts';
import { cutOff } from '../request.ts';
import type { Context } from '../steps.ts';

/** Bytes that may wait for a reader. Further events are refused until it has read. */
const MAX_WAITING_BYTES = 256 * 1024;
/** Interval of comments, in milliseconds. They keep the connection open, and show a proxy that its client has left. */
const COMMENT_MS = 5000;
/** A reader that took nothing of what waits in that many intervals is cut off: after 15 seconds. */
const STALLED_INTERVALS = 3;
/** How long a reader may take for the last event, in milliseconds. */
const LAST_MS = 5000;

/** An answer of server-sent events (HTML, section 9.2). */
export class EventStream {
  readonly #res: ServerResponse;
  readonly #delay: Delay;
  /** Another answer was sent. */
  readonly #late: boolean;
  /** Bytes written, and how many of them the system had taken at the last comment. */
  #written = 0;
  #taken = 0;
  #stalledIntervals = 0;
  /** `undefined` once the stream is over. */
  #tasks: (() => void)[] | undefined = [];

  /** Sends the header, unless the timeout was answered before. */
  constructor(ctx: Context, { schedule, delay }: Pick<Time, 'schedule' | 'delay'>) {
    const { req, res } = ctx;
    this.#res = res;
    this.#delay = delay;
    this.#late = ctx.state.expired;
    if (this.#late) {
      this.#over();
      return;
    }
    writeHead(ctx);
    // The body that a GET may have is not read; HTTP/2 counts a request as incomplete until its end was read.
    req.resume();
    // A write that meets a closed connection.
    res.on('error', () => undefined);
    const stop = schedule(COMMENT_MS, () => {
      if (this.#isStalled()) cutOff(res);
      else if (this.hasRoom) this.#write(': still here\n\n');
    });
    this.whenOver(stop);
    if (res.destroyed) this.#over();
    else res.once('close', () => this.#over());
  }

  /** Runs tasks when the stream ends or the reader leaves; at once if that has happened. */
  whenOver(...tasks: readonly (() => void)[]): void {
    if (this.#tasks !== undefined) this.#tasks.push(...tasks);
    else for (const task of tasks) task();
  }

  #over(): void {
    const tasks = this.#tasks ?? [];
    this.#tasks = undefined;
    for (const task of tasks) task();
  }

  /**
   * @param data an object, or JSON on one line
   * @returns whether the reader has room for it; otherwise nothing was sent
   */
  send(event: string, data: object | string, id?: string): boolean {
    if (!this.hasRoom) return false;
    this.#write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${textOf(data)}\n\n`);
    return true;
  }

  /** Writes several events at once, which costs less than one write for each. */
  together(send: () => void): void {
    this.#res.cork();
    send();
    this.#res.uncork();
  }

  /**
   * Ends the answer, with one more event.
   * @param event `retry` is how long an EventSource waits until it connects again by itself, in milliseconds
   */
  end(event?: { readonly name: string; readonly data: object; readonly retry?: number | undefined }): void {
    this.#over();
    const res = this.#res;
    if (this.#late || res.destroyed || res.writableEnded) return;
    if (event !== undefined) {
      const retry = event.retry === undefined ? '' : `retry: ${event.retry}\n\n`;
      this.#write(`${retry}event: ${event.name}\ndata: ${textOf(event.data)}\n\n`);
    }
    res.end();
    const cancel = this.#delay(LAST_MS, () => cutOff(res));
    res.once('close', cancel);
  }

  /** A suspended reader, whose connection stays open. Called at intervals. */
  #isStalled(): boolean {
    const { writableLength } = this.#res;
    const taken = this.#written - writableLength;
    this.#stalledIntervals = writableLength === 0 || taken > this.#taken ? 0 : this.#stalledIntervals + 1;
    this.#taken = taken;
    return this.#stalledIntervals >= STALLED_INTERVALS;
  }

  /** Whether the reader has room for an event. */
  get hasRoom(): boolean {
    const { destroyed, writableEnded, writableLength } = this.#res;
    return !this.#late && !destroyed && !writableEnded && writableLength < MAX_WAITING_BYTES;
  }

  #write(text: string): void {
    this.#written += Buffer.byteLength(text);
    this.#res.write(text);
    // Express's compression buffers until it is flushed.
    if ('flush' in this.#res && typeof this.#res.flush === 'function') this.#res.flush();
  }
}

function textOf(data: object | string): string {
  return typeof data === 'string' ? data : JSON.stringify(data);
}

/** Answers a HEAD request. */
export function answerHead(ctx: Context): undefined {
  writeHead(ctx);
  ctx.res.end();
}

/** From here on the answer is written past Koa. */
function writeHead(ctx: Context): void {
  const { res, state } = ctx;
  ctx.respond = false;
  res.setHeader('Content-Type', contentType(EVENT_STREAM_MEDIA_TYPE));
  // Middleware such as Express's compression would keep events until a block is full.
  res.setHeader('Cache-Control', 'no-store, no-transform');
  // nginx would buffer the events.
  res.setHeader('X-Accel-Buffering', 'no');
  res.setHeader(HEADERS.requestId, state.requestId);
  res.statusCode = 200;
  res.flushHeaders();
}
