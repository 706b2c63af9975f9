import { EVENT_STREAM_MEDIA_TYPE, HEADERS, JSON_MEDIA_TYPE, PROTOCOL } from '../../wire/constants.ts';
import { isRdcpError, RdcpError } from '../../wire/errors.ts';
import { isObject, parsedJson } from '../../wire/json-text.ts';
import { timestamp } from '../../wire/time.ts';
import { randomId } from './random-id.ts';
import { RdcpResponseError } from './response-error.ts';
import { type ServerSentEvent, ServerSentEventParser } from './server-sent-events.ts';
import { answeredByTlsPort, failedByScheme } from './wrong-scheme.ts';

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Address of the server, and the credential. */
export interface RdcpClientOptions {
  /** Address of the server, such as `http://127.0.0.1:9465`. Its path is prepended to every path of the protocol. */
  readonly baseUrl: string;
  /** Sent as `X-RDCP-API-Key`. */
  readonly apiKey?: string;
  /** Sent as `Authorization: Bearer`. A function is called before every request. Not together with `apiKey`. */
  readonly token?: string | (() => string | Promise<string>);
  /** Sent as `X-RDCP-Client-ID`: a label for the audit trail. It does not identify the client; the credential does. */
  readonly clientId?: string;
  /** Sent as `X-RDCP-Tenant-ID`. */
  readonly tenantId?: string;
  /** @default the global `fetch` */
  readonly fetch?: Fetch;
  /** Timeout of a request, in milliseconds. @default 30000 (RDCP 1.0, Limits) */
  readonly timeoutMs?: number;
  /** Extra headers of every request, for example for a proxy. The protocol's own headers take precedence. @default {} */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Options of a single request. */
export interface RequestOptions {
  /** Identifies the request. Control requests with the same id take effect once. @default a random UUID */
  readonly requestId?: string;
  /** Aborts the request; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** {@link RequestOptions} that other options may leave open. */
type Request = { readonly [Name in keyof RequestOptions]: RequestOptions[Name] | undefined };

interface Call {
  readonly path: string;
  /** Fields of the query string. What is undefined is left out. */
  readonly query?: object;
  /** JSON body. Makes the request a POST. */
  readonly body?: unknown;
  /** Form body. Makes the request a POST without a credential header: the form holds the credential. */
  readonly form?: URLSearchParams;
  /** Statuses besides 2xx that are not errors. */
  readonly answers?: readonly number[];
  /** Time that the server needs for this request, in milliseconds, on top of the timeout. @default 0 */
  readonly extraMs?: number;
}

/** Sends one request and resolves with the parsed response. */
export type Transport = <T>(call: Call, options?: Request) => Promise<T>;

interface StreamCall extends Pick<Call, 'path' | 'query' | 'body'> {
  readonly lastEventId?: string | undefined;
  /** The name of the event that ends the stream. @default the stream lasts until it is aborted */
  readonly ends?: string;
}

/** Sends one request and yields the events of the response, their data parsed. Leaving the loop closes the connection. */
export type StreamTransport = (
  call: StreamCall,
  options?: Request,
) => AsyncGenerator<Omit<ServerSentEvent, 'data'> & { readonly data: unknown }, void, undefined>;

/** A version of the protocol that is not ours. */
const PROTOCOL_FORM = /^rdcp\/[\d.]{1,7}$/;

/** The most that is read of an answer, in bytes after decompression. Streams have no end. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A server that is silent for this long, in milliseconds, is gone: it sends a comment every 5 seconds. */
const SILENCE_MS = 20_000;

/** @throws {TypeError} if the options contradict each other, or the base URL is not an absolute HTTP URL */
export function createTransport(options: RdcpClientOptions): { send: Transport; stream: StreamTransport } {
  if (options.apiKey !== undefined && options.token !== undefined) {
    throw new TypeError('apiKey and token cannot be combined: pass one of them');
  }
  const base = baseOf(options.baseUrl);
  const fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const timeoutMs = options.timeoutMs ?? 30_000;

  /** Sends the request. Whatever fails from here on is translated by {@link failureOf}. */
  async function respond(call: Call, headers: Headers, attempt: Attempt): Promise<Response> {
    const { timeout, signal } = attempt;
    const body = call.form?.toString() ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    const response = await fetch(`${base}${call.path}${queryOf(call.query)}`, {
      headers,
      ...(body === undefined ? { method: 'GET' } : { method: 'POST', body }),
      // Redirects are not followed: to another origin fetch drops Authorization, but would forward the API key.
      redirect: 'manual',
      cache: 'no-store',
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    attempt.answered = true;
    return response;
  }

  const send: Transport = async (call, { requestId = randomId(), signal } = {}) => {
    signal?.throwIfAborted();
    const timeout = AbortSignal.timeout(timeoutMs + (call.extraMs ?? 0));
    const headers = await headersOf(options, requestId, call);
    const attempt: Attempt = { base, requestId, signal, timeout, sentAt: performance.now(), answered: false };
    try {
      return await answerOf(attempt, await respond(call, headers, attempt), call);
    } catch (cause) {
      throw failureOf(attempt, cause);
    }
  };

  const stream: StreamTransport = async function* (call, { requestId = randomId(), signal } = {}) {
    signal?.throwIfAborted();
    const headers = await headersOf(options, requestId, call);
    headers.set('Accept', EVENT_STREAM_MEDIA_TYPE);
    if (call.lastEventId !== undefined) headers.set('Last-Event-ID', call.lastEventId);
    const silence = silenceAfter(timeoutMs);
    const timeout = silence.signal;
    const attempt: Attempt = { base, requestId, signal, timeout, sentAt: performance.now(), answered: false };
    try {
      const response = await respond(call, headers, attempt);
      if (!response.ok || response.headers.get('Content-Type')?.startsWith(EVENT_STREAM_MEDIA_TYPE) !== true) {
        await answerOf(attempt, response, {});
        throw notRdcp(attempt, response);
      }
      const parser = new ServerSentEventParser();
      const decoder = new TextDecoder();
      for await (const piece of piecesOf(response, silence)) {
        for (const event of parser.read(decoder.decode(piece, { stream: true }))) {
          const data = parsedJson(event.data);
          if (data === undefined) throw unsupported(attempt, 'The server sent an event that is not JSON');
          yield { ...event, data };
          if (event.event === call.ends) return;
        }
      }
    } catch (cause) {
      throw failureOf(attempt, cause);
    } finally {
      silence.end();
    }
    throw unreachable(attempt, 'closed the connection');
  };

  return { send, stream };
}

function queryOf(fields: object = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) query.set(name, value instanceof Date ? timestamp(value.getTime()) : String(value));
  }
  return query.size === 0 ? '' : `?${query}`;
}

/** Time to read what has arrived while this process was stopped (Ctrl-Z, a laptop that slept), in milliseconds. */
const CATCH_UP_MS = 1000;

/** Aborts a request whose server is silent for too long. A caller that takes its time does not count. */
function silenceAfter(milliseconds: number) {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => clearTimeout(timer);
  const allow = (milliseconds: number) => {
    end();
    timer = setTimeout(() => {
      timer = setTimeout(() => controller.abort(), CATCH_UP_MS);
    }, milliseconds);
  };
  allow(milliseconds);
  return { signal: controller.signal, allow, end };
}

/** The body as it arrives. Closes the connection when the caller leaves its loop. */
async function* piecesOf({ body }: Response, silence?: ReturnType<typeof silenceAfter>) {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      silence?.allow(SILENCE_MS);
      const { done, value } = await reader.read();
      silence?.end();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The answer as text; `response.text()` would read one without an end into memory. */
async function textOf(attempt: Attempt, response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const piece of piecesOf(response)) {
    bytes += piece.byteLength;
    if (bytes > MAX_ANSWER_BYTES)
      throw unreachable(attempt, 'sent an answer that has more than 16 MiB, which is not read');
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

function baseOf(baseUrl: string): string {
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError('baseUrl must be an http or https URL');
  if (url.username !== '' || url.password !== '') throw new TypeError('baseUrl must not contain a credential');
  return url.origin + url.pathname.replace(/\/+$/, '');
}

async function headersOf(
  options: RdcpClientOptions,
  requestId: string,
  { body, form }: Pick<Call, 'body' | 'form'>,
): Promise<Headers> {
  const headers = new Headers(options.headers);
  headers.set('Accept', JSON_MEDIA_TYPE);
  headers.set(HEADERS.protocol, PROTOCOL);
  headers.set(HEADERS.requestId, requestId);
  if (form !== undefined) headers.set('Content-Type', 'application/x-www-form-urlencoded');
  else if (body !== undefined) headers.set('Content-Type', JSON_MEDIA_TYPE);
  if (options.clientId !== undefined) headers.set(HEADERS.clientId, options.clientId);
  if (options.tenantId !== undefined) headers.set(HEADERS.tenantId, options.tenantId);
  if (form !== undefined) return headers;
  if (options.apiKey !== undefined) {
    headers.set(HEADERS.authMethod, 'api-key');
    headers.set(HEADERS.apiKey, sendable(options.apiKey, 'apiKey'));
  } else if (options.token !== undefined) {
    const token = typeof options.token === 'string' ? options.token : await options.token();
    headers.set(HEADERS.authMethod, 'bearer');
    headers.set('Authorization', `Bearer ${sendable(token, 'token')}`);
  }
  return headers;
}

/** Checked here because the error message of `Headers` would contain the credential. */
function sendable(credential: string, name: string): string {
  if (!VISIBLE_ASCII.test(credential)) throw new TypeError(`${name} must contain only visible ASCII characters`);
  return credential;
}

async function answerOf<T>(
  attempt: Attempt,
  response: Response,
  { answers = [], form }: Pick<Call, 'answers' | 'form'>,
): Promise<T> {
  const { base, requestId } = attempt;
  const { status } = response;
  const text = await textOf(attempt, response);
  const elsewhere = answeredByTlsPort(base, status, text) ?? redirected(base, response);
  if (elsewhere !== undefined) throw unreachable(attempt, elsewhere);
  const body = parsedJson(text);
  const speaksRdcp = isObject(body) && body.protocol === PROTOCOL;
  if (!response.ok && !(answers.includes(status) && speaksRdcp && !('error' in body))) {
    const retryAfter = response.headers.get('Retry-After');
    throw new RdcpResponseError({ base, status, requestId, body, retryAfter, oauth: form !== undefined });
  }
  if (!speaksRdcp) throw notRdcp(attempt, response, isObject(body) ? body.protocol : undefined);
  return body as T;
}

/** What is said of a redirect. On a web page its target is hidden. */
function redirected(base: string, { status, type, headers }: Response): string | undefined {
  if (type !== 'opaqueredirect' && Math.floor(status / 100) !== 3) return undefined;
  const target = URL.parse(headers.get('Location') ?? '', base);
  return `redirects${target === null ? '' : ` to ${target.origin}${target.pathname}`}, which is not followed`;
}

function notRdcp(attempt: Attempt, { status, headers }: Response, protocol?: unknown): RdcpError {
  const type = headers.get('Content-Type')?.split(';')[0] ?? 'no content type';
  const what = PROTOCOL_FORM.test(String(protocol))
    ? `speaks ${protocol}, not`
    : `answered ${status} with ${type}, which is not`;
  return unsupported(attempt, `The server at ${attempt.base} ${what} ${PROTOCOL}`);
}

function unsupported({ requestId }: Attempt, message: string): RdcpError {
  return new RdcpError('RDCP_VERSION_UNSUPPORTED', message, { details: { requestId } });
}

interface Attempt {
  readonly base: string;
  readonly requestId: string;
  readonly signal: AbortSignal | undefined;
  readonly timeout: AbortSignal;
  readonly sentAt: number;
  /** Whether a response has begun. */
  answered: boolean;
}

/** The error to throw for a request that failed: the caller's own reason, or an error of this package. */
function failureOf(attempt: Attempt, cause: unknown): unknown {
  const { base, requestId, signal, timeout, sentAt, answered } = attempt;
  if (isRdcpError(cause)) return cause;
  if (signal?.aborted) return signal.reason;
  if (timeout.aborted) {
    const message = `The server at ${base} did not respond in time`;
    return new RdcpError('RDCP_TIMEOUT', message, { details: { requestId }, cause });
  }
  if (answered) return unreachable(attempt, 'closed the connection', cause);
  return unreachable(attempt, failedByScheme(base, cause, performance.now() - sentAt) ?? 'cannot be reached', cause);
}

function unreachable({ base, requestId }: Attempt, what: string, cause?: unknown): RdcpError {
  return new RdcpError('RDCP_UNAVAILABLE', `The server at ${base} ${what}`, { details: { requestId }, cause });
}
