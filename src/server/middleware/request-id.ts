import type { IncomingMessage } from 'node:http';
import { RdcpError } from '../../errors.ts';
import { HEADERS, REQUEST_HEADERS } from '../../protocol/constants.ts';
import { isIdentifier } from '../../protocol/names.ts';
import { header, type Step } from '../context.ts';

/** The request id that the client gave, where it is one. */
export function requestIdOf(req: IncomingMessage): string | undefined {
  const [given, ...more] = req.headersDistinct[REQUEST_HEADERS.requestId] ?? [];
  return given !== undefined && more.length === 0 && isIdentifier(given) ? given : undefined;
}

/**
 * Refuses malformed names. A request whose id is one keeps the id that was made for it; the client's name for itself grants
 * nothing: the identity is the credential's.
 */
export function identifiers(): Step {
  return (ctx) => {
    for (const key of ['requestId', 'clientId'] as const) {
      const value = header(ctx.req, REQUEST_HEADERS[key]);
      if (value === undefined || isIdentifier(value)) continue;
      const name = HEADERS[key];
      throw new RdcpError('RDCP_MALFORMED_REQUEST', `${name} must be 1 to 255 of a-z A-Z 0-9 . _ -`, {
        details: { field: name },
      });
    }
  };
}
