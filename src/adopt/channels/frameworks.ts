import type { IncomingMessage } from 'node:http';
import { isOwnRequest } from '../../otel/own-work.ts';
import type { LibraryFamily } from './family.ts';
import { number, text } from './fields.ts';
import { type Traced, traced } from './operations.ts';

interface LayerMessage extends Traced {
  /** `next` belongs to the router that runs the layer, and is another function each time that a router gets the request. */
  readonly req: IncomingMessage & { readonly next?: unknown };
  readonly handler: { readonly name?: unknown };
  /** The pattern that matched: the route's, or that of the mount. Without those of the routers around it. */
  readonly route?: unknown;
  /** Has `route` where it was mounted by `use()`. */
  readonly layer?: { readonly route?: unknown };
}

const isMounted = ({ layer }: LayerMessage) => Object.hasOwn(Object(layer), 'route') && layer?.route === undefined;

/** The patterns by which one request was routed. `baseUrl` has the values of parameters in their place. */
class RoutedRequest {
  /** Patterns of mounts up to a router, by its `next`. */
  readonly #mounts = new WeakMap<object, string>();
  /** What the last layer has for its pattern: a router that is new here was called by it. */
  #last = '';
  /** The route that was reached last. */
  route: string | undefined;

  /** Notes that a layer begins. Returns the pattern from the root on. */
  enter(message: LayerMessage): string {
    const router = Object(message.req.next);
    const mount = this.#mounts.get(router) ?? this.#last;
    this.#mounts.set(router, mount);
    const own = message.route === '/' ? '' : String(message.route);
    const isPath = typeof message.route === 'string' && isMounted(message);
    this.#last = mount + (isPath ? own.replace(/\/+$/, '') : own);
    const pattern = this.#last || '/';
    if (!isMounted(message)) this.route = pattern;
    return pattern;
  }
}

const routed = new WeakMap<IncomingMessage, RoutedRequest>();

function enter(message: LayerMessage): string | undefined {
  const { req, route } = message;
  if (typeof route !== 'string' && !(route instanceof RegExp)) return undefined;
  const request = routed.get(req) ?? new RoutedRequest();
  routed.set(req, request);
  return request.enter(message);
}

export const EXPRESS: LibraryFamily = {
  category: 'EXPRESS',
  description: 'middleware and handlers of Express routers',
  module: { name: 'router', versions: '>=2.3.0 <3', file: 'index.js' },
  follow: ({ operations }) =>
    traced(operations, 'express.router.request', {
      ended: 'handler ended',
      failed: 'handler failed',
      ignores: ({ req }: LayerMessage) => isOwnRequest(req),
      describe: (message) => ({
        'http.request.method': text(message.req.method),
        'http.route': enter(message),
        'code.function.name': text(message.handler.name),
      }),
      // What is mounted gets the request before its route is known.
      describeEnd: (message) => {
        const { route } = routed.get(message.req) ?? {};
        return isMounted(message) && route !== undefined ? { 'http.route': route } : {};
      },
    }),
};

interface HandlerMessage extends Traced {
  readonly request: { readonly raw: IncomingMessage; readonly method?: unknown };
  readonly reply: { readonly statusCode?: unknown };
  readonly async: boolean;
  readonly route: { readonly url?: unknown };
}

export const FASTIFY: LibraryFamily = {
  category: 'FASTIFY',
  description: 'handlers of Fastify routes',
  module: { name: 'fastify', versions: '>=5.0.0 <6', file: 'fastify.js' },
  follow: ({ operations }) =>
    traced(operations, 'fastify.request.handler', {
      ended: 'handler ended',
      failed: 'handler failed',
      ignores: ({ request }: HandlerMessage) => isOwnRequest(request.raw),
      endsWithFunction: ({ async }) => !async,
      describe: ({ request, route }) => ({
        'http.request.method': text(request.method),
        'http.route': text(route.url),
      }),
      describeEnd: ({ reply }) => ({ 'http.response.status_code': number(reply.statusCode) }),
    }),
};
