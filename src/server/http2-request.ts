import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, ServerHttp2Stream } from 'node:http2';

/** The stream of an HTTP/2 request or response; `undefined` on HTTP/1.1. */
export function http2Stream(message: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined {
  return 'stream' in message ? (message as unknown as Http2ServerRequest).stream : undefined;
}

/**
 * Adds to an HTTP/2 request what steps and body parsers expect and Node's compatibility layer omits. An HTTP/1.1
 * request is unchanged.
 */
export function readAsHttp1(req: IncomingMessage): void {
  const stream = http2Stream(req);
  if (stream === undefined || req.headersDistinct !== undefined) return;
  const values = headerValues(req.rawHeaders);
  Object.defineProperty(req, 'headersDistinct', { value: values });
  // HTTP/2 has no `Transfer-Encoding`, but parsers use it to detect a body.
  if (values['content-length'] === undefined && !stream.endAfterHeaders) req.headers['transfer-encoding'] = 'chunked';
}

/**
 * Every value of every header. `:authority` counts as `Host` (RFC 9113, section 8.3.1); when they differ, there are two
 * values.
 */
function headerValues(rawHeaders: readonly string[]): Record<string, string[]> {
  const values: Record<string, string[]> = Object.create(null);
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    values[name] = [...(values[name] ?? []), rawHeaders[index + 1]!];
  }
  const { ':authority': authority = [], host = [] } = values;
  const agree = host.length === 0 || (host.length === 1 && host[0] === authority[0]);
  const regular = Object.entries(values).filter(([name]) => !name.startsWith(':'));
  return Object.assign(Object.create(null), Object.fromEntries(regular), {
    ...(authority.length > 0 && { host: agree ? authority : [...authority, ...host] }),
  });
}

/** Announces the end of the connection. HTTP/2 has no such header and uses frames instead. */
export function endConnection(res: ServerResponse): void {
  if (http2Stream(res) === undefined && !res.headersSent) res.setHeader('Connection', 'close');
}
