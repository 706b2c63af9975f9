import type { IncomingMessage } from 'node:http';
import { RdcpError } from '../../errors.ts';
import { HEADERS, REQUEST_HEADERS } from '../../protocol/constants.ts';
import { isIdentifier } from '../../protocol/names.ts';
import type { Step } from '../context.ts';

/** The request id that the client gave, where it is one. */
export function requestIdOf(req: IncomingMessage): string | undefined {
  const [given, ...more] = req.headersDistinct[REQUEST_HEADERS.requestId] ?? [];
  return given !== undefined && more.length === 0 && isIdentifier(given) ? given : undefined;
}

/**
 * Refuses malformed names, whoever sends them: before anybody is identified, so that the refusal tells nothing of tenants. A
 * request whose id is one keeps the id that was made for it; the client's name for itself grants nothing: the identity is
 * the credential's.
 */
export function identifiers(): Step {
  return (ctx) => {
    for (const key of ['requestId', 'clientId', 'tenantId'] as const) {
      const values = ctx.req.headersDistinct[REQUEST_HEADERS[key]];
      if (values === undefined || values.every(isIdentifier)) continue;
      const name = HEADERS[key];
      throw new RdcpError('RDCP_MALFORMED_REQUEST', `${name} must be 1 to 255 of a-z A-Z 0-9 . _ -`, {
        details: { field: name },
      });
    }
  };
}
