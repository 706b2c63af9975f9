import type { AuditAction } from '../../wire/audit-messages.ts';
import { SCOPES, type Scope } from '../../wire/constants.ts';
import { isRdcpError, RdcpError } from '../../wire/errors.ts';
import { given } from '../../wire/json-text.ts';
import type { ClientCertificate, Sender } from '../authenticator.ts';
import { hasScope, type Principal } from '../principal.ts';
import { type RefusalReason, refusal } from '../refusal.ts';

export interface TokenEvent {
  readonly action: Extract<AuditAction, `token.${string}`>;
  readonly outcome: 'success' | 'denied';
  /** Principal of the session. `sessionId` is set. */
  readonly principal: Principal;
  readonly reason: string;
}

export interface TokenCall {
  readonly form: readonly (readonly [string, string])[];
  readonly authorization?: string | undefined;
  readonly clientCertificate?: ClientCertificate | undefined;
  readonly sender?: Sender | undefined;
  /** Called with the principal before anything is issued or changed. Throws to refuse. */
  identified(principal: Principal): void;
  /** Like `identified`, for the revocation of a valid token, which is not rate limited. */
  revoking(principal: Principal): void;
  /** Called when no principal is identified and the request succeeds. Throws to refuse. */
  unidentified(): void;
  /** Writes the audit entry. If it rejects, no token is returned. */
  note(event: TokenEvent): Promise<void>;
}

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

/** Error codes of RFC 6749 (section 5.2), RFC 7009 (section 2.2.1) and RFC 8693 (section 2.2.2). */
const OAUTH_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_token_type',
  'invalid_scope',
  'invalid_target',
] as const;
export type OAuthError = (typeof OAUTH_ERRORS)[number];

export function oauthErrorOf({ details }: RdcpError): OAuthError | undefined {
  return OAUTH_ERRORS.find((code) => code === details?.error);
}

export function badRequest(code: OAuthError, message: string): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', message, { details: { error: code } });
}

export function badCredential(
  code: OAuthError,
  method: 'api-key' | 'bearer' | 'mtls',
  reason?: RefusalReason,
): RdcpError {
  return withOAuthError(refusal(method, reason), code) as RdcpError;
}

function widerScope({ method, scopes }: Principal, requested: readonly Scope[]): RdcpError {
  const reason = { reason: 'insufficient_scopes', requiredScopes: requested, providedScopes: scopes };
  return new RdcpError('RDCP_FORBIDDEN', 'The credential does not have every scope that was requested', {
    method,
    details: { error: 'invalid_scope', ...reason },
  });
}

export function othersToken(code: 'invalid_grant' | 'unauthorized_client', { method }: Principal): RdcpError {
  return new RdcpError('RDCP_FORBIDDEN', 'The token was not issued to this client', {
    method,
    details: { error: code },
  });
}

/** Adds an OAuth code to a refusal. Audit trail and metrics still see the original. */
export function withOAuthError(error: unknown, code: OAuthError): unknown {
  if (!isRdcpError(error) || (error.status !== 401 && error.status !== 403)) return error;
  const { method, headers, cause, message, details } = error;
  return new RdcpError(error.code, message, {
    details: { ...details, error: code },
    ...given({ method, headers }),
    cause,
  });
}
