import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

/** The server that is judged, and what it takes to connect to it. */
export interface Target {
  readonly url: URL;
  readonly ca?: string;
  /** Client certificate and its private key, PEM. */
  readonly cert?: string;
  readonly key?: string;
}

export interface Request {
  readonly method: string;
  /** Relative to the base URL. */
  readonly path: string;
  /** Pairs, so that a header can be sent twice. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Buffer;
}

export interface Answer {
  /** Method and path, for messages. */
  readonly request: string;
  readonly status: number;
  readonly httpVersion: string;
  /** Every value of every header, by lower-case name. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  readonly text: string;
  /** False when the bytes of the body are no UTF-8. */
  readonly utf8: boolean;
  /** The body as JSON; `undefined` when it is none. */
  readonly body: unknown;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** The specification recommends 30 s as the request timeout; a server that uses all of it is still heard. */
const ANSWER_TIMEOUT_MS = 35_000;

export function header(answer: Answer, name: string): string | undefined {
  return answer.headers[name.toLowerCase()]?.join(', ');
}

export function tlsOptions(target: Target): { host: string; port: number; servername: string; ca?: string } {
  const host = hostOf(target.url);
  return {
    host,
    port: portOf(target.url),
    // An address is no server name (RFC 6066, 3).
    servername: /^[\d.]+$|:/.test(host) ? '' : host,
    ...(target.ca === undefined ? {} : { ca: target.ca }),
    ...(target.cert === undefined ? {} : { cert: target.cert, key: target.key }),
  };
}

export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

/** One request on a connection of its own. */
export function exchange(target: Target, request: Request): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = [['Host', target.url.host], ['Connection', 'close'], ...request.headers];
  const names = new Set(request.headers.map(([name]) => name.toLowerCase()));
  if (request.body !== undefined && !names.has('content-length') && !names.has('transfer-encoding')) {
    headers.push(['Content-Length', String(Buffer.byteLength(request.body))]);
  }
  const send = target.url.protocol === 'https:' ? httpsRequest : httpRequest;
  const outgoing = send({
    ...(target.url.protocol === 'https:' ? tlsOptions(target) : { host: hostOf(target.url), port: portOf(target.url) }),
    agent: false,
    method: request.method,
    path: target.url.pathname.replace(/\/$/, '') + request.path,
    headers: headers.flat(),
    timeout: ANSWER_TIMEOUT_MS,
  });
  const named = `${request.method} ${request.path}`;
  outgoing.on('timeout', () => outgoing.destroy(new Error(`${named} was not answered within 35 s`)));
  // A server may answer and close before it has read the whole body: the answer counts, the broken pipe does not.
  let answered = false;
  outgoing.on('error', (error) => answered || reject(error));
  outgoing.on('response', (response) => {
    answered = true;
    readAnswer(named, response).then(resolve, reject);
  });
  outgoing.end(request.body);
  return promise;
}

async function readAnswer(request: string, response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return {
    request,
    status: response.statusCode ?? 0,
    httpVersion: response.httpVersion,
    headers: response.headersDistinct,
    ...readBody(Buffer.concat(chunks)),
    receivedAt: Date.now(),
  };
}

function readBody(bytes: Buffer): Pick<Answer, 'text' | 'utf8' | 'body'> {
  const text = bytes.toString('utf8');
  const utf8 = Buffer.from(text, 'utf8').equals(bytes);
  try {
    return { text, utf8, body: JSON.parse(text) };
  } catch {
    return { text, utf8, body: undefined };
  }
}

export function openSocket(target: Target): Promise<Socket | TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket | TLSSocket>();
  const secure = target.url.protocol === 'https:';
  const socket = secure
    ? connectTls(tlsOptions(target))
    : connectPlain({ host: hostOf(target.url), port: portOf(target.url) });
  socket.once(secure ? 'secureConnect' : 'connect', () => resolve(socket));
  socket.once('error', reject);
  return promise;
}

/**
 * Sends bytes as they are, for requests that no HTTP client would send, and reads until the server closes or
 * `patienceMs` pass. `undefined`: the connection ended without an answer.
 */
export async function exchangeRaw(target: Target, bytes: string, patienceMs = 5000): Promise<Answer | undefined> {
  const socket = await openSocket(target);
  const chunks: Buffer[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, patienceMs);
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A reset after the answer is the server's good right with a request like these.
  socket.on('error', () => resolve());
  socket.on('close', () => resolve());
  socket.write(bytes);
  await promise;
  clearTimeout(timer);
  socket.destroy();
  return parseAnswer(bytes.slice(0, bytes.indexOf('\r\n')), Buffer.concat(chunks));
}

function parseAnswer(request: string, bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine, ...fields] = bytes.toString('latin1', 0, Math.max(end, 0)).split('\r\n');
  const status = /^HTTP\/(\d\.\d) (\d{3})/.exec(statusLine ?? '');
  if (end < 0 || status === null) return undefined;
  const headers: Record<string, string[]> = {};
  for (const field of fields) {
    const colon = field.indexOf(':');
    const name = field.slice(0, colon).toLowerCase();
    headers[name] = [...(headers[name] ?? []), field.slice(colon + 1).trim()];
  }
  const raw = bytes.subarray(end + 4);
  const body = headers['transfer-encoding']?.includes('chunked') === true ? unchunk(raw) : raw;
  return {
    request,
    status: Number(status[2]),
    httpVersion: status[1] ?? '',
    headers,
    ...readBody(body),
    receivedAt: Date.now(),
  };
}

function unchunk(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, Math.max(lineEnd, at)), 16);
    if (lineEnd < 0 || !(size > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
