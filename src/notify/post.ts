import type { IncomingMessage } from 'node:http';
import { openRequest } from '../net/request.ts';

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

/** Sends one POST request and resolves with the status of its answer. */
export function post({ url, headers, body, signal }: PostRequest): Promise<PostAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<PostAnswer>();
  const bytes = Buffer.from(body);
  const sent = openRequest(url, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': bytes.length },
    signal,
  });
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
