import type { IncomingMessage } from 'node:http';
import { failureCode } from '../errors.ts';
import { openRequest } from '../net/request.ts';
import { MAX_BYTES, type Source, SourceFault, tooLarge } from './source.ts';

/** Longest time for an answer and all of its body, in milliseconds. */
const TIMEOUT_MS = 3000;
/** Nothing is there (RFC 9110). */
const ABSENT = [204, 404, 410];

/** Asks again with the ETag of the document before, so that an unchanged one is not sent again. */
export function addressSource(url: string): Source {
  let last: { readonly etag: string; readonly text: string } | undefined;
  return {
    field: 'pull.url',
    async read() {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await ask(url, last?.etag, signal);
      const { statusCode: status = 0 } = response;
      if (status === 200) {
        const text = await bodyOf(response, signal);
        const { etag } = response.headers;
        last = etag === undefined ? undefined : { etag, text };
        return text;
      }
      // Its body, if any, is not read.
      response.destroy();
      if (status === 304 && last !== undefined) return last.text;
      if (!ABSENT.includes(status)) throw new SourceFault(`answers with status ${status}`);
      last = undefined;
      return undefined;
    },
  };
}

function ask(url: string, etag: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = {
    Accept: 'application/jwt, text/plain, */*',
    ...(etag !== undefined && { 'If-None-Match': etag }),
  };
  const request = openRequest(url, { headers, agent: false, signal });
  request.on('response', resolve);
  request.on('error', (error) => reject(faultOf(error, signal)));
  request.end();
  return promise;
}

async function bodyOf(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      size += chunk.length;
      if (size > MAX_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof SourceFault ? error : faultOf(error, signal);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function faultOf(error: unknown, { aborted }: AbortSignal): SourceFault {
  return new SourceFault(aborted ? 'does not answer in time' : `cannot be reached${failureCode(error)}`);
}
