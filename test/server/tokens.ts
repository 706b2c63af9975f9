import type { TestContext } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse, SessionResponse } from '../../src/wire/messages.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import {
  KEYS,
  type KeyName,
  startServer,
  type TestAnswer,
  type TestServer,
  type TestServerOptions,
} from '../support/server.ts';

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
export const SECRET = 'the secret that tokens are signed with';
/** What a client with the key `operator` sends. */
export const operator = { client_id: 'operator-client', client_secret: KEYS.operator };
export const credentials = { grant_type: 'client_credentials' };

export interface TokenAnswer {
  readonly protocol: string;
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token: string;
  readonly issued_token_type: string;
}

export const tokenSettings = { issuer: 'https://service.example/', audience: 'rdcp', secret: SECRET };

/** A server that issues tokens. */
export function startTokenServer(
  t: TestContext,
  security: RdcpConfig['security'] = {},
  options: TestServerOptions = {},
): Promise<TestServer> {
  const config = { ...options.config, security: { level: 'standard' as const, tokens: tokenSettings, ...security } };
  return startServer(t, { ...options, config });
}

type Fields = Readonly<Record<string, string>> | readonly (readonly [string, string])[] | string;

/** Posts a form. */
export function post<T = OAuthErrorResponse>(
  server: Pick<TestServer, 'request'>,
  path: string,
  fields: Fields,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestAnswer<T>> {
  const body = typeof fields === 'string' ? fields : new URLSearchParams(fields as Record<string, string>).toString();
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return server.request<T>(path, { method: 'POST', body, headers: { ...type, ...headers } });
}

export const askToken = <T = TokenAnswer>(
  server: Pick<TestServer, 'request'>,
  fields: Fields,
  headers?: Readonly<Record<string, string>>,
) => post<T>(server, TOKEN_PATHS.token, fields, headers);

/** An API key for a session with a refresh token. */
export const exchangeKey = (server: Pick<TestServer, 'request'>, key: KeyName, fields: Record<string, string> = {}) =>
  askToken(server, {
    grant_type: TOKEN_EXCHANGE,
    subject_token: KEYS[key],
    subject_token_type: ACCESS_TOKEN,
    ...fields,
  });

export const refresh = <T = TokenAnswer>(
  server: Pick<TestServer, 'request'>,
  token: string,
  fields: Record<string, string> = {},
) => askToken<T>(server, { grant_type: 'refresh_token', refresh_token: token, ...fields });

export const basic = (id: string, secret: string) => ({
  Authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});

export const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** Who a token is taken for. */
export const session = (server: Pick<TestServer, 'request'>, token: string) =>
  server.request<SessionResponse & ErrorResponse>('/rdcp/v1/session', { headers: bearer(token) });
