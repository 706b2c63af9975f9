import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { type ServedRequest, Work, type WorkContext } from '../../gate/work.ts';
import { fieldOf } from '../../wire/thrown.ts';
import { type AnnouncedRoutes, Http2Request, HttpRequest } from './served-request.ts';

// Node.js announces each request on a diagnostics channel before the application's handler gets it, so every framework on
// `node:http` and `node:http2` is covered without patching any (https://nodejs.org/api/diagnostics_channel.html#http). Fastify
// announces the route that it has found (https://fastify.dev/docs/latest/Reference/Hooks/#diagnostics-channel-hooks).

/** On what emits the events of a request or of its answer. */
const WORK = Symbol('rdcp.work');

interface OfWork {
  [WORK]?: Work | undefined;
}

interface RequestStart {
  readonly request: IncomingMessage & OfWork;
  readonly response: ServerResponse & OfWork;
}

interface StreamStart {
  readonly stream: ServerHttp2Stream & OfWork;
  readonly headers: IncomingHttpHeaders;
}

type Answer = (ServerResponse | ServerHttp2Stream) & OfWork;

/** Makes each HTTP request a piece of work, while attributes or outcomes of work are asked for. */
export class HttpRequests {
  readonly #context: WorkContext;
  readonly #followers = new Set<(request: ServedRequest) => void>();
  readonly #routes: AnnouncedRoutes = new WeakMap();

  /** Node.js has the channel of HTTP/2 from 22.17 and 24.2 on. */
  readonly #channels: Readonly<Record<string, (message: unknown) => void>> = {
    'http.server.request.start': (message) => {
      const { request, response } = message as RequestStart;
      this.#follow(new HttpRequest(request, this.#routes), response);
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
      // A request without a body ends where the application reads it.
      if (length === undefined && encoding === undefined) return;
      request[WORK] = response[WORK];
      request.on('end', this.#entered);
    },
    // Comes before the application's listeners of `finish`. An answer that has finished is closed in the same context.
    'http.server.response.finish': (message) => this.#enter((message as RequestStart).response),
    'http2.server.stream.start': (message) => {
      const { stream, headers } = message as StreamStart;
      this.#follow(new Http2Request(stream, headers, this.#routes), stream);
      stream.on('end', this.#entered).on('finish', this.#entered);
    },
    'tracing:fastify.request.handler:start': (message) => {
      // What throws in a subscriber of a channel ends the process.
      const raw = fieldOf(fieldOf(message, 'request'), 'raw');
      const carrier = fieldOf(raw, 'stream') ?? raw;
      const url = fieldOf(fieldOf(message, 'route'), 'url');
      if (typeof carrier === 'object' && carrier !== null && typeof url === 'string') this.#routes.set(carrier, url);
    },
  };

  // Events of a request and of its answer are emitted in the async context of the connection. These listeners come before the
  // application's, which then run as the work of the request. They are the same for all requests.
  readonly #entered: (this: OfWork) => void;
  readonly #closed: (this: Answer) => void;

  constructor(context: WorkContext) {
    const requests = this;
    this.#context = context;
    this.#entered = function () {
      requests.#enter(this);
    };
    this.#closed = function () {
      requests.#enter(this);
      // After the application's listeners.
      process.nextTick(endWork, this);
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

  #follow(request: ServedRequest, answer: Answer): void {
    const work = this.#context.begin(new Work(undefined, request));
    answer[WORK] = work;
    this.#context.observer?.began(work);
    for (const began of this.#followers) began(request);
    answer.on('close', this.#closed);
  }

  #enter({ [WORK]: work }: OfWork): void {
    if (work !== undefined && this.#context.current()?.request !== work.request) this.#context.begin(work);
  }
}

function endWork(answer: Answer): void {
  const work = answer[WORK]!;
  // An async context, such as that of a connection, can outlive the request.
  work.ended = true;
  work.followed?.answered(answer.writableFinished ? statusOf(answer) : undefined);
}

function statusOf(answer: Answer): number | undefined {
  if ('statusCode' in answer) return answer.statusCode;
  // A stream that is reset is finished as well.
  return answer.rstCode ? undefined : Number(answer.sentHeaders?.[':status']);
}
