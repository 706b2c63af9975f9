import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
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
      this.#works.set(request, this.#start(new HttpRequest(request, this.#routes)));
      // The end of a request without a body is emitted in the turn in which the request is, and so as this work.
      const { headers } = request;
      if ('content-length' in headers || 'transfer-encoding' in headers) request.on('end', this.#bodyRead);
      response.on('close', this.#closed);
    },
    // Comes before the application's listeners for `finish`.
    'http.server.response.finish': (message) => this.#enter((message as Started).request),
    'http2.server.stream.start': (message) => {
      const { stream, headers } = message as StreamStarted;
      // A stream that is reset is finished as well.
      const status = () => (stream.rstCode ? undefined : Number(stream.sentHeaders?.[':status']));
      this.#follow(new Http2Request(stream, headers, this.#routes), stream, status);
    },
    'tracing:fastify.request.handler:start': (message) => {
      // What throws in a subscriber of a channel ends the process.
      const raw = fieldOf(fieldOf(message, 'request'), 'raw');
      const carrier = fieldOf(raw, 'stream') ?? raw;
      const url = fieldOf(fieldOf(message, 'route'), 'url');
      if (typeof carrier === 'object' && carrier !== null && typeof url === 'string') this.#routes.set(carrier, url);
    },
  };

  readonly #works = new WeakMap<IncomingMessage, Work>();
  readonly #bodyRead: (this: IncomingMessage) => void;
  readonly #closed: (this: ServerResponse) => void;

  constructor(context: WorkContext) {
    this.#context = context;
    const enter = (request: IncomingMessage) => this.#enter(request);
    const works = this.#works;
    // One listener for all requests: a closure for each would cost more than all the rest.
    this.#bodyRead = function bodyRead() {
      enter(this);
    };
    this.#closed = function closed() {
      enter(this.req);
      // After the application's listeners.
      process.nextTick(endRequest, this, works.get(this.req));
    };
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

  #start(request: ServedRequest): Work {
    const work = this.#context.begin(new Work(undefined, request));
    this.#context.observer?.began(work);
    for (const began of this.#followers) began(request);
    return work;
  }

  // Events of a request and of its answer are emitted in the async context of the connection. Our listeners come before the
  // application's, which then run as the work of the request.

  #enter(request: IncomingMessage): void {
    const work = this.#works.get(request);
    if (work !== undefined && this.#context.current()?.request !== work.request) this.#context.begin(work);
  }

  /** A stream of HTTP/2. */
  #follow(request: ServedRequest, stream: ServerHttp2Stream, status: () => number | undefined): void {
    const work = this.#start(request);
    const enter = () => {
      if (this.#context.current()?.request !== request) this.#context.begin(work);
    };
    stream.on('end', enter);
    stream.on('finish', enter);
    stream.on('close', () => {
      enter();
      process.nextTick(() => endWork(work, stream.writableFinished ? status() : undefined));
    });
  }
}

function endRequest(response: ServerResponse, work: Work | undefined): void {
  if (work !== undefined) endWork(work, response.writableFinished ? response.statusCode : undefined);
}

function endWork(work: Work, status: number | undefined): void {
  // An async context, such as that of a connection, can outlive the request.
  work.ended = true;
  work.followed?.answered(status);
}
