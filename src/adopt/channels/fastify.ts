import type { IncomingMessage } from 'node:http';
import { isOwnRequest } from '../../own-work.ts';
import type { LibraryFamily } from './family.ts';
import { number, text } from './fields.ts';
import { Operations } from './operations.ts';
import { type Traced, traced } from './tracing.ts';

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
