import type { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { ServedRequest } from '../../gate/work.ts';
import { fieldOf } from '../../wire/thrown.ts';

/** The routes that frameworks have announced, by request, over HTTP/2 by its stream. */
export type AnnouncedRoutes = WeakMap<object, string>;

/** A request over HTTP/1. */
export class HttpRequest implements ServedRequest {
  readonly method: string;
  readonly target: string;
  readonly #request: IncomingMessage;
  readonly #routes: AnnouncedRoutes;

  constructor(request: IncomingMessage, routes: AnnouncedRoutes) {
    this.#request = request;
    this.#routes = routes;
    this.method = request.method ?? '';
    // Read now: routers that are mounted under a path change it.
    this.target = request.url ?? '';
  }

  get address(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  header(name: string): string | undefined {
    return headerOf(this.#request.headers, name);
  }

  /** Express, and frameworks like it, set two fields on the request once a route was found. */
  get route(): string | undefined {
    const path = fieldOf(fieldOf(this.#request, 'route'), 'path');
    if (typeof path !== 'string') return this.#routes.get(this.#request);
    const baseUrl = fieldOf(this.#request, 'baseUrl');
    return `${typeof baseUrl === 'string' ? baseUrl : ''}${path}`;
  }
}

/** A request over HTTP/2, which arrives as a stream. */
export class Http2Request implements ServedRequest {
  readonly method: string;
  readonly target: string;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #routes: AnnouncedRoutes;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, routes: AnnouncedRoutes) {
    this.#stream = stream;
    this.#headers = headers;
    this.#routes = routes;
    // Read now: the application gets the same headers, and may change them.
    this.method = headers[':method'] ?? '';
    this.target = headers[':path'] ?? '';
  }

  get address(): string | undefined {
    return this.#stream.session?.socket.remoteAddress;
  }

  header(name: string): string | undefined {
    // HTTP/2 has the host in a field of its own.
    return headerOf(this.#headers, name) ?? (name === 'host' ? this.#headers[':authority'] : undefined);
  }

  get route(): string | undefined {
    return this.#routes.get(this.#stream);
  }
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  // Node's headers have the prototype of objects.
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return Array.isArray(value) ? value.join(', ') : value;
}
