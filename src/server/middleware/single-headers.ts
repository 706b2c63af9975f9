import { RdcpError } from '../../errors.ts';
import { HEADERS } from '../../protocol/constants.ts';
import type { Step } from '../context.ts';

/**
 * Some Node releases silently drop fields beyond their own limit, and a dropped tenant header would change a request's
 * meaning. Their limit is higher than this one, so nothing is dropped unnoticed.
 */
export const MAX_HEADER_FIELDS = 100;

/** Headers whose duplicates a proxy in front might interpret differently. */
const SINGLE = [...Object.values(HEADERS), 'Host', 'Origin', 'Content-Type', 'Content-Encoding', 'Date'].map(
  (name) => ({ name, key: name.toLowerCase() }),
);

/**
 * Refuses duplicates of single-valued headers. (The authenticator checks credentials.)
 * @param judgedLater headers for which a later step has a better error
 */
export function singleHeaders(judgedLater: readonly string[] = []): Step {
  const single = SINGLE.filter(({ name }) => !judgedLater.includes(name));
  return (ctx) => {
    const { rawHeaders, headersDistinct: headers } = ctx.req;
    if (rawHeaders.length > 2 * MAX_HEADER_FIELDS) {
      throw new RdcpError('RDCP_MALFORMED_REQUEST', `The request has more than ${MAX_HEADER_FIELDS} header fields`);
    }
    // All field names are distinct, so there are no duplicates.
    if (2 * Object.keys(headers).length === rawHeaders.length) return;
    for (const { name, key } of single) {
      if ((headers[key]?.length ?? 0) > 1) {
        throw new RdcpError('RDCP_MALFORMED_REQUEST', `${name} was sent more than once`, { details: { field: name } });
      }
    }
  };
}
