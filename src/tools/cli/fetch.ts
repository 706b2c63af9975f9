import { Agent, request } from 'node:https';
import { Readable } from 'node:stream';
import { PATHS } from '../../wire/constants.ts';
import type { Fetch } from '../client/transport.ts';
import type { Terminal } from './terminal.ts';

/** PEM. */
export interface TlsFiles {
  /** Trusted instead of the authorities that Node knows. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** `fetch` with a client certificate or own authorities, which the global one does not take. */
export function tlsFetch(files: TlsFiles): Fetch {
  const agent = new Agent({ ...files, keepAlive: true });
  return (url, { method = 'GET', headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const sending = request(
        url,
        { agent, method, headers: Object.fromEntries(new Headers(headers)), ...(signal && { signal }) },
        (answer) => {
          const { statusCode: status = 0, headersDistinct } = answer;
          const names = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
            values.map((value): [string, string] => [name, value]),
          );
          const empty = status === 204 || status === 205 || status === 304;
          const content = empty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
          try {
            resolve(new Response(content, { status, headers: names }));
          } catch (cause) {
            // A status that no Response can have.
            reject(new TypeError('fetch failed', { cause }));
          }
        },
      );
      sending.on('error', (cause) => reject(new TypeError('fetch failed', { cause })));
      sending.end(typeof body === 'string' ? body : undefined);
    });
}

/** After this time without an answer a note says so, in milliseconds. The client itself waits longer. */
const SLOW_MS = 5000;

/** Notes that an answer is slow, except for forecasts, which take as long as they measure. */
export function patient({ note }: Pick<Terminal, 'note'>, fetch: Fetch): Fetch {
  return async (url, init) => {
    const { origin, pathname } = new URL(url);
    if (pathname.endsWith(PATHS.forecast)) return fetch(url, init);
    const slow = setTimeout(() => note(`Waiting for an answer of ${origin}; Ctrl-C ends it.`), SLOW_MS);
    try {
      return await fetch(url, init);
    } finally {
      clearTimeout(slow);
    }
  };
}
