import { RdcpError } from '../../errors.ts';
import { HEADERS, REQUEST_HEADERS } from '../../protocol/constants.ts';
import { isIdentifier } from '../../protocol/names.ts';
import { header, type Step } from '../context.ts';

/** Takes the client's request id in place of the generated one, which a request with a bad id keeps. */
export function requestId(): Step {
  return (ctx) => {
    const given = identifierHeader(ctx.req, 'requestId');
    if (given !== undefined) {
      ctx.state.requestId = given;
      ctx.state.requestIdGiven = true;
    }
  };
}

/** The client's name for itself must be well-formed, and grants nothing: the identity is the credential's. */
export function clientId(): Step {
  return (ctx) => {
    identifierHeader(ctx.req, 'clientId');
  };
}

function identifierHeader(req: Parameters<typeof header>[0], key: 'requestId' | 'clientId'): string | undefined {
  const value = header(req, REQUEST_HEADERS[key]);
  if (value === undefined || isIdentifier(value)) return value;
  const name = HEADERS[key];
  throw new RdcpError('RDCP_MALFORMED_REQUEST', `${name} must be 1 to 255 of a-z A-Z 0-9 . _ -`, {
    details: { field: name },
  });
}
