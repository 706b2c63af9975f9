import type { JWK } from 'jose';
import { isRdcpError } from '../../errors.ts';
import type { IntrospectionResponse, TokenGrant } from '../../protocol/messages.ts';
import type { Sender } from '../authenticator.ts';
import { assertBinding, thumbprintOf } from '../hybrid.ts';
import { loadJose } from '../jose.ts';
import type { Principal } from '../principal.ts';
import { grantOf, type TokenCall } from './call.ts';
import {
  ACCESS_TOKEN_TYPE,
  ACCESS_TOKEN_TYPES,
  createTokenCredentials,
  type TokenCredentialsOptions,
} from './credentials.ts';
import { createIntrospecting } from './introspecting.ts';
import { issuerUrl } from './issuer-url.ts';
import { createIssuing, type IssueRequest, type IssuingOptions } from './issuing.ts';
import { type Parameters, readParameters, requestedScopes, requestedTargets, requiredParameter } from './parameters.ts';
import { createRefreshing } from './refreshing.ts';
import { badCredential, badRequest, othersToken, withOAuthError } from './refusals.ts';
import { isTooDeep } from './session.ts';

/** The token service of this server. What it throws has the error code of the RFC (`oauthErrorOf`). */
export interface TokenService {
  /** Grants a token (RFC 6749, RFC 8693). */
  grant(call: TokenCall): Promise<TokenGrant>;
  /** Ends the session of a token (RFC 7009). A token that is not known is no error. */
  revoke(call: TokenCall): Promise<void>;
  /** Tells a client that authenticates itself about a token of this server (RFC 7662). */
  introspect(call: TokenCall): Promise<IntrospectionResponse>;
  /** The `iss` of its tokens. */
  readonly issuer: string;
  /** The issuer as the address of this server, where it is one (RFC 8414). */
  readonly issuerUrl?: URL | undefined;
  /** The public keys, where signing is asymmetric (RFC 7517). */
  readonly publishedKeys?: (() => readonly JWK[]) | undefined;
}

export type TokenServiceOptions = IssuingOptions & TokenCredentialsOptions;

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const GRANT_TYPES = ['client_credentials', 'refresh_token', TOKEN_EXCHANGE];

export function createTokenService(options: TokenServiceOptions): TokenService {
  const { bearer, issuer } = options;
  const credentials = createTokenCredentials(options);
  const issuing = createIssuing(options);
  const refreshing = createRefreshing({ ...options, issuing });
  const introspect = createIntrospecting({
    issuer: issuer.issuer,
    accessTokenHolder: async (token) => ((await isFromUs(token)) ? verified(token) : undefined),
    usableRefreshToken: (token) => refreshing.usable(token),
  });

  async function issue(call: TokenCall, request: IssueRequest, reason: string): Promise<TokenGrant> {
    const { principal } = request;
    // Tokens asked for on a connection with a certificate are worth nothing without it (RFC 8705).
    const certificateThumbprint = thumbprintOf(call.clientCertificate);
    const bound = certificateThumbprint === undefined ? principal : { ...principal, certificateThumbprint };
    const { sessionId, tokens } = await issuing.begin({ ...request, principal: bound });
    try {
      const session = { ...principal, sessionId, scopes: tokens.scopes };
      await call.note({ action: 'token.issue', outcome: 'success', principal: session, reason });
    } catch (error) {
      // Without its entry in the trail there must be no token. Nobody has seen this one.
      await issuing.end(sessionId).catch(() => undefined);
      throw error;
    }
    return grantOf(tokens);
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
    assertTargets(call, [issuer.audience].flat());
    const token = requiredParameter(parameters, 'subject_token');
    const type = requiredParameter(parameters, 'subject_token_type');
    const client = await credentials.client(parameters, call.authorization);
    const subject = await credentials.subject(token, type, call.sender);
    try {
      assertBinding(subject, call.clientCertificate);
    } catch (error) {
      throw withOAuthError(error, 'invalid_request');
    }
    // RFC 8693, section 4.3: the client of a token is the one that asked for it. It refreshes and revokes it, too.
    const { clientId = subject.clientId } = client ?? {};
    const principal = clientId === undefined ? subject : { ...subject, clientId };
    call.identified(principal);
    const parent = principal.method === 'bearer' && (await isFromUs(token)) ? principal.sessionId : undefined;
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
    return refreshing.refresh(call, token, parameters, client);
  }

  /** Whether a token says that it is a JWT of this server. Nothing of it is verified. */
  async function isFromUs(token: string): Promise<boolean> {
    const { decodeJwt } = await loadJose();
    try {
      return decodeJwt(token).iss === issuer.issuer;
    } catch {
      return false;
    }
  }

  /** Whom a bearer token speaks for; `undefined` for one that is not good, or not any more. */
  async function verified(token: string, sender?: Sender): Promise<Principal | undefined> {
    try {
      return await bearer.verify(token, undefined, sender);
    } catch (error) {
      if (isRdcpError(error) && error.code === 'RDCP_AUTH_FAILED') return undefined;
      throw error;
    }
  }

  /** Whose token of ours it is; `undefined` for any other text, and for a token that is not good any more. */
  async function holderOf(token: string, sender: Sender | undefined): Promise<Principal | undefined> {
    if (await isFromUs(token)) return verified(token);
    const holder = await refreshing.holder(token);
    // Its owner must not believe that it has ended: this server goes on accepting it.
    if (holder === undefined && (await verified(token, sender)) !== undefined) {
      throw badRequest('unsupported_token_type', 'The token is of another issuer, which alone can revoke it');
    }
    return holder;
  }

  return {
    async grant(call) {
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

    async revoke(call) {
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
      if (!(await issuing.end(principal.sessionId))) return;
      await call.note({ action: 'token.revoke', outcome: 'success', principal, reason: 'revoked by its holder' });
    },

    async introspect(call) {
      credentials.assertCertificate(call.clientCertificate);
      const parameters = readParameters(call.form);
      const client = await credentials.client(parameters, call.authorization);
      if (client === undefined) throw badCredential('invalid_client', 'api-key');
      call.identified(client);
      return introspect(requiredParameter(parameters, 'token'), client);
    },

    issuer: issuer.issuer,
    issuerUrl: issuerUrl(issuer.issuer),
    publishedKeys: issuer.keys.published,
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
