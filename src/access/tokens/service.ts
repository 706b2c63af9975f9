import { isRdcpError } from '../../wire/errors.ts';
import { isLoopback } from '../../wire/net/hosts.ts';
import type { TokenGrant } from '../../wire/oauth-messages.ts';
import type { ApiKeyVerifier } from '../api-keys.ts';
import {
  assertBinding,
  type ClientCertificate,
  type CredentialVerifier,
  type Sender,
  thumbprintOf,
} from '../authenticator.ts';
import { readClaims } from '../jws.ts';
import type { CertificateVerifier } from '../mtls.ts';
import type { Principal } from '../principal.ts';
import type { OwnTokens } from './own-tokens.ts';
import { type IssueRequest, isTooDeep, sessionsOf } from './sessions.ts';
import {
  badCredential,
  badRequest,
  clientCredentials,
  type OAuthError,
  othersToken,
  type Parameters,
  readParameters,
  requestedScopes,
  requestedTargets,
  requiredParameter,
  type TokenCall,
  withOAuthError,
} from './token-call.ts';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const GRANT_TYPES = ['client_credentials', 'refresh_token', TOKEN_EXCHANGE];

const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
const ACCESS_TOKEN_TYPE = `${TOKEN_TYPE}access_token`;
const ACCESS_TOKEN_TYPES = [ACCESS_TOKEN_TYPE, `${TOKEN_TYPE}jwt`];
/** Type of an API key as `subject_token`. The access token type is accepted for it too. */
const API_KEY_TYPE = 'urn:rdcp:token-type:api-key';
const SUBJECT_TYPES = [...ACCESS_TOKEN_TYPES, API_KEY_TYPE];

interface TokenVerifiers {
  readonly apiKey: ApiKeyVerifier | undefined;
  /** Verifies every accepted bearer token, including our own. */
  readonly bearer: CredentialVerifier;
  readonly certificate: CertificateVerifier | undefined;
  /** Whether issuing needs a valid client certificate (level enterprise). */
  readonly certificateRequired: boolean;
}

export type TokenService = ReturnType<typeof createTokenService>;

export function createTokenService(
  own: OwnTokens,
  { apiKey, bearer, certificate, certificateRequired }: TokenVerifiers,
) {
  const { issuer, audience } = own.settings;
  const sessions = sessionsOf(own);

  /** @throws {RdcpError} `invalid_client` if a required certificate is missing, or the certificate is invalid */
  async function assertCertificate(presented: ClientCertificate | undefined): Promise<void> {
    if (presented === undefined && certificateRequired) throw badCredential('invalid_client', 'mtls');
    if (presented !== undefined) await asOAuth('invalid_client', () => certificate?.verify(presented));
  }

  /** Returns the authenticated client, if any. Its secret is an API key. */
  async function clientOf({ authorization }: TokenCall, parameters: Parameters): Promise<Principal | undefined> {
    const presented = clientCredentials(parameters, authorization);
    if (presented === undefined) return undefined;
    const principal = await verifiedKey(presented.secret, 'invalid_client');
    if (principal.clientId !== presented.id) throw badCredential('invalid_client', 'api-key');
    return principal;
  }

  async function verifiedKey(key: string, code: OAuthError): Promise<Principal> {
    if (apiKey === undefined) throw badCredential(code, 'api-key');
    return asOAuth(code, () => apiKey.verify(key));
  }

  async function subjectOf({ sender, clientCertificate }: TokenCall, parameters: Parameters): Promise<Principal> {
    const token = requiredParameter(parameters, 'subject_token');
    const type = requiredParameter(parameters, 'subject_token_type');
    if (!SUBJECT_TYPES.includes(type)) {
      const types = `${ACCESS_TOKEN_TYPES.join(', ')} or ${API_KEY_TYPE}`;
      throw badRequest('invalid_request', `subject_token_type must be ${types}`);
    }
    // An operator's own key has no prefix, so it is looked up.
    const isKey = type === API_KEY_TYPE || token.startsWith('rdcp_') || apiKey?.knows(token) === true;
    if (isKey) return verifiedKey(token, 'invalid_request');
    return asOAuth('invalid_request', async () => {
      const subject = await bearer.verify(token, sender);
      assertBinding(subject, clientCertificate);
      return subject;
    });
  }

  async function issue(call: TokenCall, request: IssueRequest, reason: string): Promise<TokenGrant> {
    const { principal, scopes } = request;
    // A token requested with a client certificate is bound to it (RFC 8705).
    const certificateThumbprint = thumbprintOf(call.clientCertificate);
    const bound = certificateThumbprint === undefined ? principal : { ...principal, certificateThumbprint };
    const { sessionId, grant } = await sessions.begin({ ...request, principal: bound });
    try {
      const session = { ...principal, sessionId, scopes };
      await call.note({ action: 'token.issue', outcome: 'success', principal: session, reason });
    } catch (error) {
      // Without an audit entry the token is not returned, and its session is revoked.
      await sessions.end(sessionId).catch(() => undefined);
      throw error;
    }
    return grant;
  }

  async function clientGrant(call: TokenCall, parameters: Parameters): Promise<TokenGrant> {
    const principal = await clientOf(call, parameters);
    if (principal === undefined) throw badCredential('invalid_client', 'api-key');
    call.identified(principal);
    const scopes = requestedScopes(parameters, principal);
    return issue(call, { principal, scopes, refreshable: false }, 'client credentials');
  }

  async function tokenExchange(call: TokenCall, parameters: Parameters): Promise<TokenGrant> {
    assertSupported(parameters);
    assertTargets(call, [audience].flat());
    const client = await clientOf(call, parameters);
    const subject = await subjectOf(call, parameters);
    // The requesting client becomes the token's client (RFC 8693, section 4.3), and may refresh and revoke it.
    const { clientId = subject.clientId } = client ?? {};
    const principal = clientId === undefined ? subject : { ...subject, clientId };
    call.identified(principal);
    const parent =
      principal.method === 'bearer' && isFromUs(parameters.get('subject_token') ?? '')
        ? principal.sessionId
        : undefined;
    if (parent !== undefined && isTooDeep(parent)) {
      throw badRequest('invalid_request', 'The subject_token was exchanged too often');
    }
    const scopes = requestedScopes(parameters, principal);
    const grant = await issue(call, { principal, scopes, parent, refreshable: true }, 'token exchange');
    return { ...grant, issued_token_type: ACCESS_TOKEN_TYPE };
  }

  async function refreshToken(call: TokenCall, parameters: Parameters): Promise<TokenGrant> {
    const token = requiredParameter(parameters, 'refresh_token');
    const client = await clientOf(call, parameters);
    return sessions.refresh(call, token, parameters, client);
  }

  const isFromUs = (token: string) => readClaims(token)?.iss === issuer;

  async function verified(token: string, sender?: Sender): Promise<Principal | undefined> {
    try {
      return await bearer.verify(token, sender);
    } catch (error) {
      if (isRdcpError(error) && error.code === 'RDCP_AUTH_FAILED') return undefined;
      throw error;
    }
  }

  async function holderOf(token: string, sender: Sender | undefined): Promise<Principal | undefined> {
    if (isFromUs(token)) return verified(token);
    const holder = await sessions.holder(token);
    // Not a silent success: this server would continue to accept the token.
    if (holder === undefined && (await verified(token, sender)) !== undefined) {
      throw badRequest('unsupported_token_type', 'Only the issuer of the token can revoke it');
    }
    return holder;
  }

  return {
    async grant(call: TokenCall): Promise<TokenGrant> {
      await assertCertificate(call.clientCertificate);
      const parameters = readParameters(call.form);
      switch (requiredParameter(parameters, 'grant_type')) {
        case 'client_credentials':
          return clientGrant(call, parameters);
        case TOKEN_EXCHANGE:
          return tokenExchange(call, parameters);
        case 'refresh_token':
          return refreshToken(call, parameters);
        default:
          throw badRequest('unsupported_grant_type', `grant_type must be one of ${GRANT_TYPES.join(', ')}`);
      }
    },

    /** Revokes the session of a token (RFC 7009). An unknown token is not an error. */
    async revoke(call: TokenCall): Promise<void> {
      await assertCertificate(call.clientCertificate);
      const parameters = readParameters(call.form);
      const token = requiredParameter(parameters, 'token');
      const client = await clientOf(call, parameters);
      const principal = await holderOf(token, call.sender);
      if (principal?.sessionId === undefined) {
        if (client === undefined) call.unidentified();
        else call.identified(client);
        return;
      }
      if (client !== undefined && client.clientId !== principal.clientId) {
        call.identified(client);
        throw othersToken('unauthorized_client', client);
      }
      call.revoking(client ?? principal);
      if (!(await sessions.end(principal.sessionId))) return;
      await call.note({ action: 'token.revoke', outcome: 'success', principal, reason: 'revoked by its holder' });
    },

    issuer,
    issuerUrl: issuerUrl(issuer),
    /** Public keys, if signing is asymmetric (RFC 7517). */
    publishedKeys: own.keys.published,
  };
}

async function asOAuth<T>(code: OAuthError, verify: () => T | Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    throw withOAuthError(error, code);
  }
}

function assertSupported(parameters: Parameters): void {
  for (const name of ['actor_token', 'actor_token_type']) {
    if (parameters.has(name)) throw badRequest('invalid_request', `${name} is not supported`);
  }
  const type = parameters.get('requested_token_type');
  if (type !== undefined && !ACCESS_TOKEN_TYPES.includes(type)) {
    throw badRequest('invalid_request', `requested_token_type must be ${ACCESS_TOKEN_TYPES.join(' or ')}`);
  }
}

function assertTargets({ form }: TokenCall, audience: readonly string[]): void {
  for (const [name, value] of requestedTargets(form)) {
    if (!audience.includes(value)) throw badRequest('invalid_target', `${name} is not this server`);
  }
}

/** Returns the issuer as this server's URL (RFC 8414, section 2), or `undefined` if it is not a URL. */
export function issuerUrl(issuer: string): URL | undefined {
  const url = URL.parse(issuer);
  const isAddress = url?.protocol === 'https:' || url?.protocol === 'http:';
  return isAddress && !/[?#]/.test(issuer) && url.username === '' && url.password === '' ? url : undefined;
}

/** Returns why OAuth clients cannot discover this server by its issuer, or `undefined` if they can. */
export function discoveryProblem(issuer: string): string | undefined {
  const url = issuerUrl(issuer);
  if (url === undefined) {
    return 'security.tokens.issuer is not a URL: OAuth clients cannot discover this server (RFC 8414); set it to the URL of this server, such as https://host:9465';
  }
  if (url.protocol === 'https:' || isLoopback(url.hostname)) return undefined;
  return 'security.tokens.issuer is not https: OAuth clients refuse to discover this server (RFC 8414)';
}
