import { type Scope, TOKEN_PATHS } from '../../wire/constants.ts';
import type { TokenResponse } from '../../wire/oauth-messages.ts';
import type { RdcpClientOptions, RequestOptions, Transport } from './transport.ts';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const API_KEY_TYPE = 'urn:rdcp:token-type:api-key';
const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token';
/** Fraction of an access token's lifetime after which it is refreshed, so that it does not expire while a request is sent. */
const REFRESH_AFTER = 0.9;

/** Content of a requested token. */
export interface TokenRequest {
  /** A subset of the credential's scopes. @default all of them */
  readonly scopes?: readonly Scope[];
}

/**
 * Tokens that the server issues. A server that issues none answers `RDCP_NOT_FOUND`. An error has the OAuth error code in
 * `details.error`: `invalid_client`, `invalid_grant`, `invalid_scope`, …
 */
export interface RdcpTokens {
  /** A token for the `apiKey` of this client; `clientId` is the key's owner (RFC 6749, section 4.4). Has no refresh token. */
  clientCredentials(
    request: TokenRequest & { readonly clientId: string },
    options?: RequestOptions,
  ): Promise<TokenResponse>;
  /** Starts a session: exchanges this client's credential for an access token and a refresh token (RFC 8693). */
  exchange(request?: TokenRequest, options?: RequestOptions): Promise<TokenResponse>;
  /**
   * New tokens of a session, with all or some of its scopes. Each refresh token works once: a second use ends the session.
   */
  refresh(refreshToken: string, request?: TokenRequest, options?: RequestOptions): Promise<TokenResponse>;
  /** Ends the session of an access or refresh token. An unknown token is no error (RFC 7009). */
  revoke(token: string, options?: RequestOptions): Promise<void>;
  /**
   * A function for the `token` option of another client. It returns the session's access token and refreshes it shortly before
   * it expires; concurrent calls share one refresh.
   * @throws {TypeError} if the session has no refresh token
   */
  keptFresh(session: TokenResponse): () => Promise<string>;
}

export function createTokens(
  send: Transport,
  { apiKey, token }: Pick<RdcpClientOptions, 'apiKey' | 'token'>,
  now: () => number = () => performance.now(),
): RdcpTokens {
  const ask = (fields: Readonly<Record<string, string>>, { scopes }: TokenRequest, options?: RequestOptions) => {
    const form = new URLSearchParams({ ...fields, ...(scopes !== undefined && { scope: scopes.join(' ') }) });
    return send<TokenResponse>({ path: TOKEN_PATHS.token, form }, options);
  };

  const refresh: RdcpTokens['refresh'] = (refreshToken, request = {}, options) =>
    ask({ grant_type: 'refresh_token', refresh_token: refreshToken }, request, options);

  async function subject(): Promise<Record<string, string>> {
    if (apiKey !== undefined) return { subject_token: apiKey, subject_token_type: API_KEY_TYPE };
    if (token === undefined) throw new TypeError('exchange needs a client with an apiKey or a token');
    const current = typeof token === 'string' ? token : await token();
    return { subject_token: current, subject_token_type: ACCESS_TOKEN_TYPE };
  }

  return {
    async clientCredentials({ clientId, ...request }, options) {
      if (apiKey === undefined) throw new TypeError('clientCredentials needs a client with an apiKey');
      const fields = { grant_type: 'client_credentials', client_id: clientId, client_secret: apiKey };
      return ask(fields, request, options);
    },
    async exchange(request = {}, options) {
      return ask({ grant_type: TOKEN_EXCHANGE, ...(await subject()) }, request, options);
    },
    refresh,
    async revoke(revoked, options) {
      await send({ path: TOKEN_PATHS.revoke, form: new URLSearchParams({ token: revoked }) }, options);
    },
    keptFresh: (session) => keptFresh(session, refresh, now),
  };
}

function keptFresh(session: TokenResponse, refresh: RdcpTokens['refresh'], now: () => number): () => Promise<string> {
  if (session.refresh_token === undefined) throw new TypeError('keptFresh needs a session with a refresh token');
  const endOf = ({ expires_in }: TokenResponse) => now() + expires_in * 1000 * REFRESH_AFTER;
  let refreshToken = session.refresh_token;
  let accessToken = session.access_token;
  let until = endOf(session);
  let pending: Promise<void> | undefined;

  async function replace(): Promise<void> {
    const next = await refresh(refreshToken);
    until = endOf(next);
    accessToken = next.access_token;
    // A server without refresh token rotation sends none.
    refreshToken = next.refresh_token ?? refreshToken;
  }

  return async () => {
    if (now() >= until) {
      pending ??= replace().finally(() => {
        pending = undefined;
      });
      await pending;
    }
    return accessToken;
  };
}
