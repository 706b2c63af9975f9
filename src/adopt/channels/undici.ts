import type { Family } from './family.ts';
import { errorType, number, pathOf, text } from './fields.ts';
import { type Fields, Operations } from './operations.ts';

interface Request {
  readonly origin?: unknown;
  readonly path?: unknown;
  readonly method?: unknown;
}

interface RequestMessage {
  readonly request: Request;
  readonly response: { readonly statusCode?: unknown };
  readonly error: unknown;
}

export const UNDICI: Family = {
  category: 'UNDICI',
  description: 'requests made by fetch and undici, and their responses',
  follow(category) {
    const operations = new Operations(category);
    return {
      handlers: {
        'undici:request:create': ({ request }: RequestMessage) =>
          operations.begin(request, sent(request), 'request started'),
        'undici:request:headers': ({ request, response }: RequestMessage) =>
          operations.end(request, 'response received', { 'http.response.status_code': number(response.statusCode) }),
        'undici:request:error': ({ request, error }: RequestMessage) =>
          operations.end(request, 'request failed', errorType(error)),
      },
    };
  },
};

function sent({ origin, path, method }: Request): Fields {
  const url = URL.parse(String(origin ?? ''));
  return {
    'http.request.method': text(method),
    'server.address': text(url?.hostname),
    'server.port': number(url?.port),
    'url.scheme': text(url?.protocol.replace(/:$/, '')),
    'url.path': pathOf(path),
  };
}
