import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { failureCode, SettingFault } from '../errors.ts';
import { INSTRUMENTATION_NAME, VERSION } from '../version.ts';

/** A request of this package's own. */
export interface OutgoingRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Makes it a POST. */
  readonly body?: string;
  /** Ends the request, and the reading of its answer. */
  readonly signal: AbortSignal;
  /** Longest body of an answer, in bytes. `0`: it is not waited for. */
  readonly maxBytes: number;
  /** `false`: on a connection of its own, which nothing can have closed meanwhile. */
  readonly agent?: false;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** `undefined` if it is longer than `maxBytes`. */
  readonly text: string | undefined;
}

/** Bounds for reading a body that is not waited for, so that its connection can be used again. */
const DISCARDED_BYTES = 64 * 1024;
const DISCARDED_MS = 10_000;

/**
 * Sends a request and resolves with its answer, whatever its status. Redirects are not followed: credentials are sent only to
 * the configured address. Not `fetch`, whose connections keep the process alive while a request is in flight.
 * @throws {SettingFault} without an answer
 */
export async function send({ url, headers, body, maxBytes, ...options }: OutgoingRequest): Promise<Answer> {
  try {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    // Loaded with the first request: most services send none.
    const library = await (url.startsWith('https:') ? import('node:https') : import('node:http'));
    const request = library.request(url, {
      ...options,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'User-Agent': `${INSTRUMENTATION_NAME}/${VERSION}`,
        ...headers,
        ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }),
      },
    });
    request.on('socket', (socket) => socket.unref());
    request.on('response', resolve);
    request.on('error', reject);
    request.end(body);
    const response = await promise;
    if (maxBytes === 0) discard(response);
    const text = maxBytes === 0 ? undefined : await textOf(response, maxBytes);
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  } catch (cause) {
    const late = options.signal.aborted;
    throw new SettingFault(late ? 'does not answer in time' : `cannot be reached${failureCode(cause)}`, { cause });
  }
}

async function textOf(response: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function discard(response: IncomingMessage): void {
  let size = 0;
  const late = setTimeout(() => response.destroy(), DISCARDED_MS).unref();
  response.on('close', () => clearTimeout(late));
  response.on('error', () => {});
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > DISCARDED_BYTES) response.destroy();
  });
}
