import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { INSTRUMENTATION_NAME, VERSION } from '../version.ts';

/** The part of an answer that matters. */
export interface PostAnswer {
  readonly status: number;
  readonly retryAfter?: string | undefined;
}

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Ends the request while it has no answer. */
  readonly signal: AbortSignal;
}

/** Bounds for reading an answer's body, in bytes and milliseconds; then the connection is closed. */
const MAX_BODY_BYTES = 64 * 1024;
const BODY_MS = 10_000;

/**
 * Sends one POST request and resolves with the status of its answer. Redirects are not followed. Not `fetch`, whose
 * connections keep the process alive while a request is in flight.
 */
export function post({ url, headers, body, signal }: PostRequest): Promise<PostAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<PostAnswer>();
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  const bytes = Buffer.from(body);
  const sent = request(url, {
    method: 'POST',
    headers: {
      'User-Agent': `${INSTRUMENTATION_NAME}/${VERSION}`,
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': bytes.length,
    },
    signal,
  });
  sent.on('socket', (socket) => socket.unref());
  sent.on('response', (response) => {
    resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
    discard(response);
  });
  sent.on('error', reject);
  sent.end(bytes);
  return promise;
}

/** Reads a short body, so that the connection can be used again. */
function discard(response: IncomingMessage): void {
  let size = 0;
  const late = setTimeout(() => response.destroy(), BODY_MS).unref();
  response.on('close', () => clearTimeout(late));
  response.on('error', () => {});
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) response.destroy();
  });
}
