import { SCOPES, type Scope } from '../../protocol/constants.ts';
import { hasScope, type Principal } from '../principal.ts';
import { badCredential, badRequest, widerScope } from './refusals.ts';

export type Parameters = ReadonlyMap<string, string>;

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * The parameters of a form. One without a value counts as left out (RFC 6749, section 3.2).
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for one that was sent twice
 */
export function readParameters(pairs: Iterable<readonly [string, string]>): Parameters {
  const parameters = new Map<string, string>();
  for (const [name, value] of pairs) {
    if (value === '') continue;
    if (parameters.has(name)) {
      const field = name.slice(0, 64);
      throw badRequest('invalid_request', `${field} was sent more than once`, field);
    }
    parameters.set(name, value);
  }
  return parameters;
}

/** @throws {RdcpError} `RDCP_MALFORMED_REQUEST` when it is missing */
export function requiredParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw badRequest('invalid_request', `${name} is required`, name);
  return value;
}

export interface ClientCredentials {
  readonly id: string;
  readonly secret: string;
}

/**
 * The client's own credentials, by HTTP Basic or in the body (RFC 6749, section 2.3.1); `undefined` where there are none. A
 * client id alone is none.
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for both ways at once, `RDCP_AUTH_FAILED` for a Basic that is none
 */
export function clientCredentials(
  parameters: Parameters,
  authorization: string | undefined,
): ClientCredentials | undefined {
  const secret = parameters.get('client_secret');
  if (authorization !== undefined && /^basic(?: |$)/i.test(authorization)) {
    if (secret !== undefined) throw badRequest('invalid_request', 'The client authenticates in two ways');
    const credentials = decodeBasic(authorization);
    const id = parameters.get('client_id');
    if (id !== undefined && id !== credentials.id) {
      throw badRequest('invalid_request', 'client_id is not that of the Authorization', 'client_id');
    }
    return credentials;
  }
  return secret === undefined ? undefined : { id: requiredParameter(parameters, 'client_id'), secret };
}

function decodeBasic(authorization: string): ClientCredentials {
  const text = Buffer.from(BASIC.exec(authorization)?.[1] ?? '', 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1) throw badCredential('invalid_client', 'api-key');
  // Both halves are form-encoded inside.
  const decode = (half: string) => new URLSearchParams(`x=${half.replaceAll('&', '%26')}`).get('x') ?? '';
  return { id: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) };
}

/**
 * The scopes that a token is to have: those that were asked for, or all that the credential has.
 * @throws {RdcpError} `RDCP_FORBIDDEN` for one that the credential has not
 */
export function requestedScopes(parameters: Parameters, principal: Principal): readonly Scope[] {
  const asked = parameters.get('scope');
  if (asked === undefined) return principal.scopes;
  const names = new Set(asked.split(' '));
  const scopes = SCOPES.filter((scope) => names.has(scope));
  if (scopes.length < names.size) {
    throw badRequest(
      'invalid_scope',
      `scope must hold some of ${SCOPES.join(', ')}, with one space between them`,
      'scope',
    );
  }
  if (!scopes.every((scope) => hasScope(principal, scope))) throw widerScope(principal, scopes);
  return scopes;
}
