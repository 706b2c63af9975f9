import type { IncomingMessage } from 'node:http';
import { isOwnRequest } from '../../own-work.ts';
import type { LibraryFamily } from './family.ts';
import { text } from './fields.ts';
import { Operations } from './operations.ts';
import { type Traced, traced } from './tracing.ts';

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
