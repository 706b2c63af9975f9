import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { isOwnRequest } from '../../own-work.ts';
import type { Family } from './family.ts';
import { errorType, pathOf, text } from './fields.ts';
import { type Fields, Operations } from './operations.ts';

interface ServerMessage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface ClientMessage {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
  readonly error: unknown;
}

export const HTTP_SERVER: Family = {
  category: 'HTTP_SERVER',
  description: 'requests that the HTTP servers of node:http receive, and their responses',
  follow(category) {
    const operations = new Operations(category, { endsInContext: true });
    return {
      handlers: {
        'http.server.request.start': ({ request }: ServerMessage) => {
          if (!isOwnRequest(request)) operations.begin(request, received(request), 'request received');
        },
        'http.server.response.finish': ({ request, response }: ServerMessage) =>
          operations.end(request, 'response sent', { 'http.response.status_code': response.statusCode }),
      },
    };
  },
};

export const HTTP_CLIENT: Family = {
  category: 'HTTP_CLIENT',
  description: 'requests made by node:http and node:https, and their responses',
  follow(category) {
    const operations = new Operations(category);
    return {
      handlers: {
        'http.client.request.created': ({ request }: ClientMessage) =>
          operations.begin(request, sent(request), 'request started'),
        'http.client.response.finish': ({ request, response }: ClientMessage) =>
          operations.end(request, 'response received', {
            'http.response.status_code': response.statusCode,
            'network.peer.address': response.socket.remoteAddress,
            'network.peer.port': response.socket.remotePort,
          }),
        'http.client.request.error': ({ request, error }: ClientMessage) =>
          operations.end(request, 'request failed', errorType(error)),
      },
    };
  },
};

function received({ method, url, socket }: IncomingMessage): Fields {
  return {
    'http.request.method': text(method),
    'url.path': pathOf(url),
    'network.peer.address': socket.remoteAddress,
    'network.peer.port': socket.remotePort,
  };
}

function sent({ method, path, host, protocol }: ClientRequest): Fields {
  return {
    'http.request.method': text(method),
    'server.address': text(host),
    'url.scheme': text(protocol)?.replace(/:$/, ''),
    'url.path': pathOf(path),
  };
}
