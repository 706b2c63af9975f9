import type { Http2Stream } from 'node:http2';
import type { Family } from './family.ts';
import { errorType, number, pathOf, text } from './fields.ts';
import { type Fields, Operations } from './operations.ts';

interface StreamMessage {
  readonly stream: Http2Stream;
  /** Only the pseudo header fields are read. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly error: unknown;
}

export const HTTP2: Family = {
  category: 'HTTP2',
  description: 'streams of HTTP/2 servers and clients of node:http2',
  follow(category) {
    const operations = new Operations(category);
    const opened = ({ stream, headers }: StreamMessage) =>
      operations.begin(stream, requested(headers), 'stream opened');
    const answered = ({ stream, headers }: StreamMessage) =>
      operations.learn(stream, { 'http.response.status_code': number(headers[':status']) });
    const failed = ({ stream, error }: StreamMessage) => operations.learn(stream, errorType(error));
    const closed = ({ stream }: StreamMessage) =>
      operations.end(stream, 'stream closed', { 'http2.error_code': stream.rstCode });
    return {
      handlers: {
        'http2.client.stream.created': opened,
        'http2.client.stream.finish': answered,
        'http2.client.stream.error': failed,
        'http2.client.stream.close': closed,
        'http2.server.stream.created': opened,
        'http2.server.stream.finish': answered,
        'http2.server.stream.error': failed,
        'http2.server.stream.close': closed,
      },
    };
  },
};

function requested(headers: StreamMessage['headers']): Fields {
  return { 'http.request.method': text(headers[':method']), 'url.path': pathOf(headers[':path']) };
}
