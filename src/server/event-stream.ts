import type { ServerResponse } from 'node:http';
import type { Delay, Schedule } from '../clock.ts';
import { EVENT_STREAM_MEDIA_TYPE, HEADERS } from '../protocol/constants.ts';
import { cutOff } from './cut-off.ts';
import { type Context, contentType } from './steps.ts';

/** Bytes that may wait for a reader. Further events are refused until it has read. */
const MAX_WAITING_BYTES = 256 * 1024;
/** Interval of comments that keep the connection open, in milliseconds. */
const COMMENT_MS = 15_000;
/** How long a reader may take for the last event, in milliseconds. */
const LAST_MS = 5000;

export interface EventStreamOptions {
  readonly schedule: Schedule;
  readonly delay: Delay;
  /** Called once when the reader has left. */
  readonly closed: () => void;
}

/** An answer of server-sent events (HTML, section 9.2). */
export class EventStream {
  readonly #res: ServerResponse;
  readonly #delay: Delay;
  readonly #stop: () => void;
  /** Another answer was sent. */
  readonly #late: boolean;

  /** Sends the header, unless the timeout was answered before. */
  constructor(ctx: Context, { schedule, delay, closed }: EventStreamOptions) {
    const { req, res } = ctx;
    this.#res = res;
    this.#delay = delay;
    this.#late = ctx.state.expired;
    if (this.#late) {
      this.#stop = () => undefined;
      queueMicrotask(closed);
      return;
    }
    writeHead(ctx);
    // The body that a GET may have is not read; HTTP/2 counts a request as incomplete until its end was read.
    req.resume();
    // A write that meets a closed connection.
    res.on('error', () => undefined);
    this.#stop = schedule(COMMENT_MS, () => {
      if (this.#hasRoom) this.#write(': still here\n\n');
    });
    if (res.destroyed) {
      this.#stop();
      queueMicrotask(closed);
      return;
    }
    res.once('close', () => {
      this.#stop();
      closed();
    });
  }

  /**
   * @param data JSON, on one line
   * @returns whether the reader has room for it; otherwise nothing was sent
   */
  send(event: string, data: string, id?: string): boolean {
    if (!this.#hasRoom) return false;
    this.#write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`);
    return true;
  }

  /**
   * Ends the answer, with one more event.
   * @param event `retry` is how long an EventSource waits until it connects again by itself, in milliseconds
   */
  end(event?: { readonly name: string; readonly data: string; readonly retry?: number | undefined }): void {
    this.#stop();
    const res = this.#res;
    if (this.#late || res.destroyed || res.writableEnded) return;
    if (event !== undefined) {
      const retry = event.retry === undefined ? '' : `retry: ${event.retry}\n\n`;
      this.#write(`${retry}event: ${event.name}\ndata: ${event.data}\n\n`);
    }
    res.end();
    const cancel = this.#delay(LAST_MS, () => cutOff(res));
    res.once('close', cancel);
  }

  get #hasRoom(): boolean {
    const { destroyed, writableEnded, writableLength } = this.#res;
    return !this.#late && !destroyed && !writableEnded && writableLength < MAX_WAITING_BYTES;
  }

  #write(text: string): void {
    this.#res.write(text);
    // Express's compression buffers until it is told not to.
    if ('flush' in this.#res && typeof this.#res.flush === 'function') this.#res.flush();
  }
}

/** Answers a HEAD request. */
export function answerHead(ctx: Context): void {
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
