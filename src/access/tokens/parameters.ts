import { SCOPES, type Scope } from '../../wire/constants.ts';
import { hasScope, type Principal } from '../principal.ts';
import type { TokenCall } from './call.ts';
import { badCredential, badRequest, widerScope } from './refusals.ts';

export type Parameters = ReadonlyMap<string, string>;

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/** Parameters that may be repeated (RFC 8693, section 2.1). */
const REPEATABLE: readonly string[] = ['audience', 'resource'];

/** Reads the parameters of a form; empty ones count as omitted (RFC 6749, section 3.2). @throws {RdcpError} `invalid_request` for a duplicate parameter */
export function readParameters(pairs: TokenCall['form']): Parameters {
  const parameters = new Map<string, string>();
  for (const [name, value] of pairs) {
    if (value === '') continue;
    if (parameters.has(name) && !REPEATABLE.includes(name)) {
      throw badRequest('invalid_request', `${name.slice(0, 64)} was sent more than once`);
    }
    parameters.set(name, value);
  }
  return parameters;
}

export function requestedTargets(pairs: TokenCall['form']): TokenCall['form'] {
  return pairs.filter(([name, value]) => REPEATABLE.includes(name) && value !== '');
}

export function requiredParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw badRequest('invalid_request', `${name} is required`);
  return value;
}

/** Reads client id and secret from HTTP Basic or the body (RFC 6749, section 2.3.1). @throws {RdcpError} `invalid_request` for both, `invalid_client` */
export function clientCredentials(parameters: Parameters, authorization: string | undefined) {
  const secret = parameters.get('client_secret');
  if (authorization !== undefined && /^basic(?: |$)/i.test(authorization)) {
    if (secret !== undefined) {
      const problem = 'Authenticate with either the Authorization header or client_secret, not both';
      throw badRequest('invalid_request', problem);
    }
    const credentials = decodeBasic(authorization);
    if ((parameters.get('client_id') ?? credentials.id) !== credentials.id) {
      throw badRequest('invalid_request', 'client_id differs from the client in the Authorization header');
    }
    return credentials;
  }
  return secret === undefined ? undefined : { id: requiredParameter(parameters, 'client_id'), secret };
}

/** Both parts are form-encoded. */
function decodeBasic(authorization: string) {
  const text = Buffer.from(BASIC.exec(authorization)?.[1] ?? '', 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1) throw badCredential('invalid_client', 'api-key');
  const decode = (half: string) => new URLSearchParams(`x=${half.replaceAll('&', '%26')}`).get('x')!;
  return { id: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) };
}

/** The scopes of a new token: all that the credential has, unless fewer are asked for. @throws {RdcpError} `invalid_scope` for others */
export function requestedScopes(parameters: Parameters, principal: Principal): readonly Scope[] {
  const scope = parameters.get('scope');
  if (scope === undefined) return principal.scopes;
  const names = new Set(scope.split(' '));
  const scopes = SCOPES.filter((scope) => names.has(scope));
  if (scopes.length < names.size) {
    throw badRequest('invalid_scope', `scope must be a list of ${SCOPES.join(', ')}, separated by single spaces`);
  }
  if (!scopes.every((scope) => hasScope(principal, scope))) throw widerScope(principal, scopes);
  return scopes;
}
