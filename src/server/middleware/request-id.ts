import type { IncomingMessage } from 'node:http';
import { RdcpError } from '../../errors.ts';
import { HEADERS, REQUEST_HEADERS } from '../../protocol/constants.ts';
import { isIdentifier } from '../../protocol/names.ts';
import type { Step } from '../context.ts';

/** The client's request id, if it sent a valid one. */
export function requestIdOf(req: IncomingMessage): string | undefined {
  const [given, ...more] = req.headersDistinct[REQUEST_HEADERS.requestId] ?? [];
  return given !== undefined && more.length === 0 && isIdentifier(given) ? given : undefined;
}

/**
 * Refuses malformed identifiers before authentication, so that the error reveals nothing about tenants. A request with
 * a malformed id keeps its generated one. The client id header grants nothing: identity comes from the credential.
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
