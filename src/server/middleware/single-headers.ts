import { RdcpError } from '../../errors.ts';
import { HEADERS } from '../../protocol/constants.ts';
import type { Step } from '../context.ts';

/**
 * Releases of Node drop fields beyond a limit of theirs without a word, and a dropped tenant header would change what a
 * request means. Their limit is above this one, so that nothing is dropped unseen.
 */
export const MAX_HEADER_FIELDS = 100;

/** Headers whose second value could be read differently by a proxy in front of us. */
const SINGLE = [...Object.values(HEADERS), 'Host', 'Origin', 'Content-Type', 'Content-Encoding', 'Date'].map(
  (name) => ({ name, key: name.toLowerCase() }),
);

/**
 * Refuses a header that was sent twice where one value counts. (Doubled credentials are the authenticator's.)
 * @param judgedLater headers that a later step has a better answer for
 */
export function singleHeaders(judgedLater: readonly string[] = []): Step {
  const single = SINGLE.filter(({ name }) => !judgedLater.includes(name));
  return (ctx) => {
    const { rawHeaders, headersDistinct: headers } = ctx.req;
    if (rawHeaders.length > 2 * MAX_HEADER_FIELDS) {
      throw new RdcpError('RDCP_MALFORMED_REQUEST', `The request has more than ${MAX_HEADER_FIELDS} header fields`);
    }
    // Every field has a name of its own: none was sent twice.
    if (2 * Object.keys(headers).length === rawHeaders.length) return;
    for (const { name, key } of single) {
      if ((headers[key]?.length ?? 0) > 1) {
        throw new RdcpError('RDCP_MALFORMED_REQUEST', `${name} was sent more than once`, { details: { field: name } });
      }
    }
  };
}
