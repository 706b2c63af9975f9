import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Readable, Writable } from 'node:stream';
import { type ServedRequest, Work, type WorkContext } from '../../gate/work.ts';
import { fieldOf } from '../../wire/thrown.ts';
import { type AnnouncedRoutes, Http2Request, HttpRequest } from './served-request.ts';

// Node.js announces each request on a diagnostics channel before the application's handler gets it, so every framework on
// `node:http` and `node:http2` is covered without patching any (https://nodejs.org/api/diagnostics_channel.html#http). Fastify
// announces the route that it has found (https://fastify.dev/docs/latest/Reference/Hooks/#diagnostics-channel-hooks).

interface Started {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface StreamStarted {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
}

/** Makes each HTTP request a piece of work, while attributes or outcomes of work are asked for. */
export class HttpRequests {
  readonly #context: WorkContext;
  readonly #followers = new Set<(request: ServedRequest) => void>();
  readonly #routes: AnnouncedRoutes = new WeakMap();

  /** Node.js has the channel of HTTP/2 from 22.17 and 24.2 on. */
  readonly #channels: Readonly<Record<string, (message: unknown) => void>> = {
    'http.server.request.start': (message) => {
      const { request, response } = message as Started;
      this.#follow(new HttpRequest(request, this.#routes), request, response, () => response.statusCode);
    },
    'http2.server.stream.start': (message) => {
      const { stream, headers } = message as StreamStarted;
      // A stream that is reset is finished as well.
      const status = () => (stream.rstCode ? undefined : Number(stream.sentHeaders?.[':status']));
      this.#follow(new Http2Request(stream, headers, this.#routes), stream, stream, status);
    },
    'tracing:fastify.request.handler:start': (message) => {
      // What throws in a subscriber of a channel ends the process.
      const raw = fieldOf(fieldOf(message, 'request'), 'raw');
      const carrier = fieldOf(raw, 'stream') ?? raw;
      const url = fieldOf(fieldOf(message, 'route'), 'url');
      if (typeof carrier === 'object' && carrier !== null && typeof url === 'string') this.#routes.set(carrier, url);
    },
  };

  constructor(context: WorkContext) {
    this.#context = context;
  }

  /**
   * Requests that begin from now on are followed.
   * @param began called with each, before the application gets it. Must not throw
   * @returns a function that ends it
   */
  follow(began: (request: ServedRequest) => void = () => {}): () => void {
    const follower = (request: ServedRequest) => began(request);
    this.#followers.add(follower);
    if (this.#followers.size === 1) {
      for (const [channel, listener] of Object.entries(this.#channels)) subscribe(channel, listener);
    }
    return () => {
      this.#followers.delete(follower);
      if (this.#followers.size > 0) return;
      for (const [channel, listener] of Object.entries(this.#channels)) unsubscribe(channel, listener);
    };
  }

  #follow(request: ServedRequest, body: Readable, answer: Writable, status: () => number | undefined): void {
    const work = this.#context.begin(new Work(undefined, request));
    this.#context.observer?.began(work);
    for (const began of this.#followers) began(request);
    // Events of a request and of its answer are emitted in the async context of the connection. These listeners come before the
    // application's, which then run as the work of the request.
    const enter = () => {
      if (this.#context.current()?.request !== request) this.#context.begin(work);
    };
    body.on('end', enter);
    answer.on('finish', enter);
    answer.on('close', () => {
      enter();
      // After the application's listeners.
      process.nextTick(endWork, work, answer, status);
    });
  }
}

function endWork(work: Work, answer: Writable, status: () => number | undefined): void {
  // An async context, such as that of a connection, can outlive the request.
  work.ended = true;
  work.followed?.answered(answer.writableFinished ? status() : undefined);
}
