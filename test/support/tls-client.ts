import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { TestContext } from 'node:test';
import type { ConnectionOptions } from 'node:tls';

export interface TlsAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One request over HTTP/1.1 on a connection of its own. Rejects when the connection is refused. */
export async function getOverTls(url: string, tls: ConnectionOptions = {}): Promise<TlsAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<TlsAnswer>();
  const request = httpsRequest(url, { agent: false, ...tls }, async (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.once('error', reject);
    response.once('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: Buffer.concat(chunks).toString(),
      }),
    );
  });
  request.once('error', reject);
  request.end();
  return promise;
}

/** A session of HTTP/2 that ends with the test. Rejects when the connection is refused. */
export async function http2Session(
  t: TestContext,
  url: string,
  tls: ConnectionOptions = {},
): Promise<ClientHttp2Session> {
  const session = connect(url, tls);
  t.after(() => session.destroy());
  await once(session, 'connect');
  // What ends the session later is seen by its requests, and by 'close'.
  session.on('error', () => undefined);
  return session;
}

/** One request on the session. Rejects when the stream is reset, with its code in the message. */
export async function http2Request(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: string | Buffer,
): Promise<TlsAnswer> {
  const stream = session.request(headers, { endStream: body === undefined });
  const { promise, resolve, reject } = Promise.withResolvers<TlsAnswer>();
  const chunks: Buffer[] = [];
  let answer: IncomingHttpHeaders & IncomingHttpStatusHeader = {};
  stream.once('response', (received) => {
    answer = received;
  });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', reject);
  stream.once('close', () => {
    const status = answer[':status'];
    if (status === undefined) reject(new Error(`closed without an answer, code ${stream.rstCode}`));
    else resolve({ status, headers: answer, text: Buffer.concat(chunks).toString() });
  });
  if (body !== undefined) stream.end(body);
  return promise;
}
