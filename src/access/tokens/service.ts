import { isRdcpError } from '../../wire/errors.ts';
import type { TokenGrant } from '../../wire/oauth-messages.ts';
import type { Sender } from '../authenticator.ts';
import { assertBinding, thumbprintOf } from '../hybrid.ts';
import { readClaims } from '../jws.ts';
import type { Principal } from '../principal.ts';
import type { TokenCall } from './call.ts';
import {
  ACCESS_TOKEN_TYPE,
  ACCESS_TOKEN_TYPES,
  createTokenCredentials,
  type TokenCredentialsOptions,
} from './credentials.ts';
import { issuerUrl } from './issuer-url.ts';
import type { OwnTokens } from './own-tokens.ts';
import { type Parameters, readParameters, requestedScopes, requestedTargets, requiredParameter } from './parameters.ts';
import { badCredential, badRequest, othersToken, withOAuthError } from './refusals.ts';
import { isTooDeep } from './session.ts';
import { type IssueRequest, Sessions } from './sessions.ts';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const GRANT_TYPES = ['client_credentials', 'refresh_token', TOKEN_EXCHANGE];

export type TokenService = ReturnType<typeof createTokenService>;

/** Creates the token service of this server. Its errors have an OAuth code (`oauthErrorOf`). */
export function createTokenService(own: OwnTokens, options: TokenCredentialsOptions) {
  const { bearer } = options;
  const { issuer, audience } = own.settings;
  const credentials = createTokenCredentials(options);
  const sessions = new Sessions(own);

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

  async function clientCredentials(call: TokenCall, parameters: Parameters): Promise<TokenGrant> {
    const principal = await credentials.client(parameters, call.authorization);
    if (principal === undefined) throw badCredential('invalid_client', 'api-key');
    call.identified(principal);
    const scopes = requestedScopes(parameters, principal);
    return issue(call, { principal, scopes, refreshable: false }, 'client credentials');
  }

  async function tokenExchange(call: TokenCall, parameters: Parameters): Promise<TokenGrant> {
    assertSupported(parameters);
    assertTargets(call, [audience].flat());
    const token = requiredParameter(parameters, 'subject_token');
    const type = requiredParameter(parameters, 'subject_token_type');
    const client = await credentials.client(parameters, call.authorization);
    const subject = await credentials.subject(token, type, call.sender);
    try {
      assertBinding(subject, call.clientCertificate);
    } catch (error) {
      throw withOAuthError(error, 'invalid_request');
    }
    // The requesting client becomes the token's client (RFC 8693, section 4.3), and may refresh and revoke it.
    const { clientId = subject.clientId } = client ?? {};
    const principal = clientId === undefined ? subject : { ...subject, clientId };
    call.identified(principal);
    const parent = principal.method === 'bearer' && isFromUs(token) ? principal.sessionId : undefined;
    if (parent !== undefined && isTooDeep(parent)) {
      throw badRequest('invalid_request', 'The subject_token was exchanged too often');
    }
    const scopes = requestedScopes(parameters, principal);
    const grant = await issue(call, { principal, scopes, parent, refreshable: true }, 'token exchange');
    return { ...grant, issued_token_type: ACCESS_TOKEN_TYPE };
  }

  async function refreshToken(call: TokenCall, parameters: Parameters): Promise<TokenGrant> {
    const token = requiredParameter(parameters, 'refresh_token');
    const client = await credentials.client(parameters, call.authorization);
    return sessions.refresh(call, token, parameters, client);
  }

  /** Whether the unverified `iss` of a token is this server. */
  const isFromUs = (token: string) => readClaims(token)?.iss === issuer;

  /** Returns the principal of a bearer token, or `undefined` if it is not valid. */
  async function verified(token: string, sender?: Sender): Promise<Principal | undefined> {
    try {
      return await bearer.verify(token, sender);
    } catch (error) {
      if (isRdcpError(error) && error.code === 'RDCP_AUTH_FAILED') return undefined;
      throw error;
    }
  }

  /** Returns the principal of a valid token of this server, else `undefined`. */
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
    /** Grants a token (RFC 6749, RFC 8693). */
    async grant(call: TokenCall): Promise<TokenGrant> {
      credentials.assertCertificate(call.clientCertificate);
      const parameters = readParameters(call.form);
      switch (requiredParameter(parameters, 'grant_type')) {
        case 'client_credentials':
          return clientCredentials(call, parameters);
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
      credentials.assertCertificate(call.clientCertificate);
      const parameters = readParameters(call.form);
      const token = requiredParameter(parameters, 'token');
      const client = await credentials.client(parameters, call.authorization);
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

    /** `iss` of its tokens. */
    issuer,
    /** The issuer as a URL, if it is one (RFC 8414). */
    issuerUrl: issuerUrl(issuer),
    /** Public keys, if signing is asymmetric (RFC 7517). */
    publishedKeys: own.keys.published,
  };
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
