import type { IncomingMessage } from 'node:http';
import { isOwnRequest } from '../../telemetry/own-work.ts';
import type { LibraryFamily } from './family.ts';
import { number, text } from './fields.ts';
import { Operations, type Traced, traced } from './operations.ts';

interface LayerMessage extends Traced {
  /** With the path at which its router is mounted. */
  readonly req: IncomingMessage & { readonly baseUrl?: unknown };
  readonly handler: { readonly name?: unknown };
  /** The pattern of the route in its router. */
  readonly route?: unknown;
}

export const EXPRESS: LibraryFamily = {
  category: 'EXPRESS',
  description: 'middleware and handlers of Express routers',
  module: { name: 'router', versions: '>=2.3.0 <3', file: 'index.js' },
  follow: (category) => ({
    handlers: traced(new Operations(category), {
      channel: 'express.router.request',
      ended: 'handler ended',
      failed: 'handler failed',
      ignores: ({ req }: LayerMessage) => isOwnRequest(req),
      describe: ({ req, handler, route }) => ({
        'http.request.method': text(req.method),
        'http.route': typeof route === 'string' ? `${text(req.baseUrl) ?? ''}${route}` : undefined,
        'code.function.name': text(handler.name),
      }),
    }),
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
  follow: (category) => ({
    handlers: traced(new Operations(category), {
      channel: 'fastify.request.handler',
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
  }),
};
