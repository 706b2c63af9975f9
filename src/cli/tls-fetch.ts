import { Agent, request } from 'node:https';
import { Readable } from 'node:stream';
import type { Fetch } from '../client/transport.ts';

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
          if (status >= 300 && status < 400) {
            answer.destroy();
            reject(new TypeError('unexpected redirect'));
            return;
          }
          const names = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
            values.map((value): [string, string] => [name, value]),
          );
          const content = status === 204 ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
          resolve(new Response(content, { status, headers: names }));
        },
      );
      sending.on('error', (cause) => reject(new TypeError('fetch failed', { cause })));
      sending.end(typeof body === 'string' ? body : undefined);
    });
}
