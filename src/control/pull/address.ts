import { SettingFault } from '../../wire/errors.ts';
import { send } from '../../wire/net/request.ts';
import { MAX_BYTES, type Source, tooLarge } from './source.ts';

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
      const { status, headers, text } = await send({
        url,
        headers: {
          Accept: 'application/jwt, text/plain, */*',
          ...(last !== undefined && { 'If-None-Match': last.etag }),
        },
        agent: false,
        maxBytes: MAX_BYTES,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (status === 304 && last !== undefined) return last.text;
      if (status === 200) {
        if (text === undefined) throw tooLarge();
        const { etag } = headers;
        last = etag === undefined ? undefined : { etag, text };
        return text;
      }
      if (!ABSENT.includes(status)) throw new SettingFault(`answers with status ${status}`);
      last = undefined;
      return undefined;
    },
  };
}
