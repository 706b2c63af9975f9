import type { ServerResponse } from 'node:http';
import { keepsRights } from '../../access/principal.ts';
import { joining } from '../../store/one-at-a-time.ts';
import { EVENT_STREAM_MEDIA_TYPE, HEADERS, type Scope } from '../../wire/constants.ts';
import { isRdcpError, type RdcpError } from '../../wire/errors.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import type { Delay } from '../../wire/time/clock.ts';
import { contentType } from '../error-answer.ts';
import type { Identify } from '../middleware/access.ts';
import type { Time } from '../parts.ts';
import { cutOff } from '../request.ts';
import { type Context, required } from '../steps.ts';

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

interface PlacedStream {
  readonly identity: string;
  /** With `replace`: distinguishes clients that share an identity. */
  readonly client?: string;
  /** Ends it for a newer stream of the same client. @default it keeps its place */
  readonly replace?: () => void;
}

export class StreamPlaces {
  readonly #limits: { readonly name: string; readonly total: number; readonly perIdentity: number };
  /** Oldest first. */
  readonly #taken = new Set<PlacedStream>();

  constructor(limits: { readonly name: string; readonly total: number; readonly perIdentity: number }) {
    this.#limits = limits;
  }

  /**
   * Where there is no place, the oldest stream of the same client makes room: behind a proxy, one that its reader has left
   * may look open for a while.
   * @returns a function that gives the place back
   * @throws {RdcpError} `RDCP_RATE_LIMITED` when there are too many already
   */
  take(stream: PlacedStream): () => void {
    const { total, perIdentity } = this.#limits;
    const own = [...this.#taken].filter(({ identity }) => identity === stream.identity);
    const identityFull = own.length >= perIdentity;
    if (identityFull || this.#taken.size >= total) {
      const oldest = own.find(({ client, replace }) => replace !== undefined && client === stream.client);
      if (oldest === undefined) throw this.#tooMany(identityFull);
      this.#taken.delete(oldest);
      oldest.replace?.();
    }
    this.#taken.add(stream);
    return () => this.#taken.delete(stream);
  }

  #tooMany(ofIdentity: boolean): RdcpError {
    const { name, total, perIdentity } = this.#limits;
    const limit = ofIdentity ? perIdentity : total;
    const whose = ofIdentity ? 'of this credential' : 'of this process';
    return REFUSALS.manyStreams(limit, name, whose);
  }
}

/**
 * Interval of checks, in milliseconds. A revoked credential ends a stream within a second, of which files of keys and sessions
 * that another process revoked take up to 500 ms to be noticed.
 */
const CHECK_MS = 400;

/**
 * Calls back when the credential of a request expires, is revoked, or does not keep its rights: it needs one of the scopes.
 * @returns a function that ends it
 */
export type WatchCredential = (ctx: Context, scopes: readonly Scope[], over: () => void) => () => void;

export function createCredentialWatch(identify: Identify, { clock, schedule, delay }: Time): WatchCredential {
  async function isAllowed(ctx: Context, scopes: readonly Scope[]): Promise<boolean> {
    try {
      return keepsRights(required(ctx, 'principal'), await identify(ctx), scopes);
    } catch (error) {
      // An issuer that does not answer says nothing about the credential.
      return isRdcpError(error) && error.status >= 500;
    }
  }

  return (ctx, scopes, over) => {
    const { expiresAt = Number.POSITIVE_INFINITY } = required(ctx, 'principal');
    let cancel = () => {};
    const expire = () => {
      if (expiresAt - clock.now() < CHECK_MS) cancel = delay(Math.max(0, expiresAt - clock.now()), over);
    };
    const check = joining(async () => {
      if (!(await isAllowed(ctx, scopes))) over();
    });
    const stop = schedule(CHECK_MS, () => {
      cancel();
      expire();
      return check();
    });
    expire();
    return () => {
      stop();
      cancel();
    };
  };
}
