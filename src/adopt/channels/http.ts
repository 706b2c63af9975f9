import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2Stream } from 'node:http2';
import { isOwnRequest } from '../../otel/own-work.ts';
import type { Family } from './family.ts';
import { errorType, type Fields, number, pathOf, text } from './fields.ts';

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
  endsInContext: true,
  follow: ({ operations }) => ({
    'http.server.request.start': ({ request }: ServerMessage) => {
      if (!isOwnRequest(request)) operations.begin(request, received(request), 'request received');
    },
    'http.server.response.finish': ({ request, response }: ServerMessage) =>
      operations.end(request, 'response sent', { 'http.response.status_code': response.statusCode }),
  }),
};

export const HTTP_CLIENT: Family = {
  category: 'HTTP_CLIENT',
  description: 'requests made by node:http and node:https, and their responses',
  follow: ({ operations }) => ({
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
  }),
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

interface StreamMessage {
  readonly stream: Http2Stream;
  /** Only the pseudo header fields are read. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly error: unknown;
}

export const HTTP2: Family = {
  category: 'HTTP2',
  description: 'streams of HTTP/2 servers and clients of node:http2',
  follow({ operations }) {
    const opened = ({ stream, headers }: StreamMessage) => operations.begin(stream, opening(headers), 'stream opened');
    const answered = ({ stream, headers }: StreamMessage) =>
      operations.learn(stream, { 'http.response.status_code': number(headers[':status']) });
    const failed = ({ stream, error }: StreamMessage) => operations.learn(stream, errorType(error));
    const closed = ({ stream }: StreamMessage) =>
      operations.end(stream, 'stream closed', { 'http2.error_code': stream.rstCode });
    return {
      'http2.client.stream.created': opened,
      'http2.client.stream.finish': answered,
      'http2.client.stream.error': failed,
      'http2.client.stream.close': closed,
      'http2.server.stream.created': opened,
      'http2.server.stream.finish': answered,
      'http2.server.stream.error': failed,
      'http2.server.stream.close': closed,
    };
  },
};

function opening(headers: StreamMessage['headers']): Fields {
  return { 'http.request.method': text(headers[':method']), 'url.path': pathOf(headers[':path']) };
}

interface FetchRequest {
  readonly origin?: unknown;
  readonly path?: unknown;
  readonly method?: unknown;
}

interface FetchMessage {
  readonly request: FetchRequest;
  readonly response: { readonly statusCode?: unknown };
  readonly error: unknown;
}

export const UNDICI: Family = {
  category: 'UNDICI',
  description: 'requests made by fetch and undici, and their responses',
  follow: ({ operations }) => ({
    'undici:request:create': ({ request }: FetchMessage) =>
      operations.begin(request, fetched(request), 'request started'),
    'undici:request:headers': ({ request, response }: FetchMessage) =>
      operations.end(request, 'response received', { 'http.response.status_code': number(response.statusCode) }),
    'undici:request:error': ({ request, error }: FetchMessage) =>
      operations.end(request, 'request failed', errorType(error)),
  }),
};

function fetched({ origin, path, method }: FetchRequest): Fields {
  const url = URL.parse(String(origin ?? ''));
  return {
    'http.request.method': text(method),
    'server.address': text(url?.hostname),
    'server.port': number(url?.port),
    'url.scheme': text(url?.protocol.replace(/:$/, '')),
    'url.path': pathOf(path),
  };
}
