import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { decodeJwt, SignJWT } from 'jose';
import * as oauth from 'openid-client';
import { ClientCredentials, type ModuleOptions } from 'simple-oauth2';
import { hashApiKey } from '../../src/access/api-key.ts';
import { PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import { ACCESS_TOKEN, bearer, SECRET, TOKEN_EXCHANGE } from '../server/tokens.ts';
import { KEYS } from '../support/server.ts';
import { type AuthorizationServer, type Scheme, startAuthorizationServer } from './authorization-server.ts';

// A stock client, that knows nothing of RDCP.

const INSECURE = [oauth.allowInsecureRequests];

interface Client {
  readonly id?: string;
  readonly secret?: string;
  /** @default in the body, as the library does */
  readonly authentication?: oauth.ClientAuth;
}

/** The server as the library discovers it, for one of its clients. */
function discover({ issuer }: AuthorizationServer, client: Client = {}) {
  const { id = 'operator-client', secret = KEYS.operator, authentication } = client;
  return oauth.discovery(new URL(issuer), id, secret, authentication ?? oauth.ClientSecretPost(secret), {
    algorithm: 'oauth2',
    ...(issuer.startsWith('http:') && { execute: INSECURE }),
  });
}

/** A session with a refresh token, for the client's key. */
const exchange = (config: oauth.Configuration, fields: Record<string, string> = {}) =>
  oauth.genericGrantRequest(config, TOKEN_EXCHANGE, {
    subject_token: KEYS.operator,
    subject_token_type: ACCESS_TOKEN,
    ...fields,
  });

/** What the endpoint says to a token. */
const status = (config: oauth.Configuration, { issuer }: AuthorizationServer, token: string) =>
  oauth.fetchProtectedResource(config, token, new URL(PATHS.status, issuer), 'GET');

/** Has the process trust one more authority, for the length of a test. */
function trust(t: TestContext, authority: string | undefined): void {
  if (authority === undefined) return;
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, authority]);
  t.after(() => setDefaultCACertificates(before));
}

const WAYS: Readonly<Record<string, oauth.ClientAuth>> = {
  'HTTP Basic': oauth.ClientSecretBasic(KEYS.operator),
  'the body': oauth.ClientSecretPost(KEYS.operator),
};

for (const scheme of ['http', 'https'] as const satisfies Scheme[]) {
  for (const [way, authentication] of Object.entries(WAYS)) {
    test(`discovered over ${scheme}, with its secret in ${way}, a client goes through the life of tokens`, async (t) => {
      const server = await startAuthorizationServer(t, { scheme });
      trust(t, server.authority);
      const config = await discover(server, { authentication });
      assert.equal(config.serverMetadata().issuer, server.issuer);

      const granted = await oauth.clientCredentialsGrant(config, { scope: 'status' });
      assert.deepEqual([granted.token_type, granted.scope, granted.expires_in], ['bearer', 'status', 900]);
      assert.equal((await status(config, server, granted.access_token)).status, 200);

      const session = await exchange(config, { audience: 'rdcp', scope: 'status control' });
      assert.deepEqual([session.issued_token_type, session.scope], [ACCESS_TOKEN, 'status control']);
      const narrower = await exchange(config, { subject_token: session.access_token, scope: 'status' });
      assert.equal((await status(config, server, narrower.access_token)).status, 200);

      const next = await oauth.refreshTokenGrant(config, session.refresh_token ?? '');
      assert.notEqual(next.refresh_token, session.refresh_token);
      assert.equal((await status(config, server, next.access_token)).status, 200);

      await oauth.tokenRevocation(config, next.refresh_token ?? '', { token_type_hint: 'refresh_token' });
      for (const token of [next.access_token, narrower.access_token]) {
        await assert.rejects(status(config, server, token), isChallenge('bearer', 'invalid_token'));
      }
      await oauth.tokenRevocation(config, next.access_token);
    });
  }
}

test('a client that exchanges a token of another client may refresh and revoke the new one', async (t) => {
  const server = await startAuthorizationServer(t);
  const owner = await discover(server);
  const gateway = await discover(server, { id: 'status-client', secret: KEYS.status });
  const { access_token: subject } = await oauth.clientCredentialsGrant(owner, {});
  const session = await exchange(gateway, { subject_token: subject, scope: 'control' });
  assert.partialDeepStrictEqual(decodeJwt(session.access_token), {
    client_id: 'status-client',
    sub: 'operator-client',
    scope: 'control',
  });
  await assert.rejects(oauth.refreshTokenGrant(owner, session.refresh_token ?? ''), { error: 'invalid_grant' });
  const next = await oauth.refreshTokenGrant(gateway, session.refresh_token ?? '');
  await oauth.tokenRevocation(gateway, next.access_token);
  await assert.rejects(status(gateway, server, next.access_token), isChallenge('bearer', 'invalid_token'));
});

/** A refusal with a challenge, of which the library reads no more than that; the answer is there to be read. */
const isChallenge = (scheme: string, error: string) => (thrown: unknown) =>
  thrown instanceof oauth.WWWAuthenticateChallengeError &&
  thrown.cause[0]?.scheme === scheme &&
  thrown.cause[0].parameters.error === error;

test('a refusal is understood by its code: what only a client that is known can do wrong', async (t) => {
  const other = { issuer: 'https://login.example/', audience: 'rdcp', algorithms: ['HS256' as const], secret: SECRET };
  const server = await startAuthorizationServer(t, { security: { jwt: other } });
  const config = await discover(server);
  const stranger = await discover(server, { id: 'status-client', secret: KEYS.status });
  const named = await discover(server, { id: 'status-client', authentication: oauth.None() });
  const session = await exchange(config);
  const foreign = await new SignJWT({ iss: other.issuer, aud: other.audience, sub: 'ann', scope: 'status' })
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(SECRET));
  assert.equal((await status(config, server, foreign)).status, 200, 'the token of the other issuer is good here');

  const refusals: [error: string, request: () => Promise<unknown>][] = [
    ['invalid_scope', () => oauth.clientCredentialsGrant(config, { scope: 'admin' })],
    ['invalid_scope', () => exchange(stranger, { subject_token: session.access_token, scope: 'admin' })],
    ['invalid_scope', () => oauth.refreshTokenGrant(config, session.refresh_token ?? '', { scope: 'admin' })],
    ['invalid_grant', () => oauth.refreshTokenGrant(stranger, session.refresh_token ?? '')],
    ['invalid_grant', () => oauth.refreshTokenGrant(named, session.refresh_token ?? '')],
    ['unauthorized_client', () => oauth.tokenRevocation(stranger, session.access_token)],
    ['unsupported_token_type', () => oauth.tokenRevocation(config, foreign)],
  ];
  for (const [error, request] of refusals) {
    await assert.rejects(request(), { name: 'ResponseBodyError', error, status: 400 }, error);
  }
  assert.equal(
    (await oauth.refreshTokenGrant(config, session.refresh_token ?? '')).scope,
    session.scope,
    'nothing ended it',
  );
});

test('a token without the scope gets insufficient_scope', async (t) => {
  const server = await startAuthorizationServer(t);
  const config = await discover(server);
  const { access_token: token } = await oauth.clientCredentialsGrant(config, { scope: 'status' });
  const url = new URL(PATHS.discovery, server.issuer);
  await assert.rejects(
    oauth.fetchProtectedResource(config, token, url, 'GET'),
    isChallenge('bearer', 'insufficient_scope'),
  );
});

test('the library takes the metadata from the address of the issuer alone, and plain HTTP only when it is allowed', async (t) => {
  const server = await startAuthorizationServer(t);
  const elsewhere = new URL(server.issuer.replace('localhost', '127.0.0.1'));
  const settings = [KEYS.operator, oauth.ClientSecretPost(KEYS.operator)] as const;
  await assert.rejects(
    oauth.discovery(elsewhere, 'operator-client', ...settings, { algorithm: 'oauth2', execute: INSECURE }),
    { name: 'ClientError', code: 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' },
  );
  await assert.rejects(
    oauth.discovery(new URL(server.issuer), 'operator-client', ...settings, { algorithm: 'oauth2' }),
    { code: 'OAUTH_HTTP_REQUEST_FORBIDDEN' },
  );
  // Whoever gives the whole address of the metadata need not have it be the issuer's.
  const named = new URL(TOKEN_PATHS.metadata, elsewhere);
  const config = await oauth.discovery(named, 'operator-client', ...settings, { execute: INSECURE });
  assert.equal((await oauth.clientCredentialsGrant(config, {})).token_type, 'bearer');
});

// A stock client that discovers nothing: it is told the paths.

/** Secrets of an operator's own making, with what HTTP Basic, forms and URLs read in another way. */
const AWKWARD = [
  'base64+with/padding+and+more+than+32==',
  '100%25-of-what-a-key-must-have-at-least',
  'a:b&c=d;e%zz+%2Bf?g#h@i!j~k*l(m)n',
];
const RECORDS = AWKWARD.map((secret, index) => ({
  id: `awkward-${index}`,
  hash: hashApiKey(secret),
  clientId: `client-${index}.of_ours`,
  scopes: ['status' as const],
}));

function connect(
  { issuer }: Pick<AuthorizationServer, 'issuer'>,
  client: ModuleOptions['client'],
  options: ModuleOptions['options'] = {},
) {
  return new ClientCredentials({
    client,
    auth: { tokenHost: issuer, tokenPath: TOKEN_PATHS.token, revokePath: TOKEN_PATHS.revoke },
    options,
  });
}

/** What the library throws: an error of Boom, with the answer as JSON. */
const isRefused = (error: string, status: number) => (thrown: unknown) => {
  const { output, data } = thrown as { output: { statusCode: number }; data: { payload: { error: string } } };
  assert.deepEqual([data.payload.error, output.statusCode], [error, status]);
  return true;
};

for (const [way, options] of Object.entries({
  'HTTP Basic, form-encoded': { credentialsEncodingMode: 'strict' },
  'the body': { authorizationMethod: 'body' },
} as const satisfies Record<string, ModuleOptions['options']>)) {
  test(`a secret of any characters is taken by ${way}`, async (t) => {
    const server = await startAuthorizationServer(t, { security: { apiKeys: RECORDS } });
    for (const [index, secret] of AWKWARD.entries()) {
      const id = `client-${index}.of_ours`;
      const { token } = await connect(server, { id, secret }, options).getToken({ scope: 'status' });
      const answer = await server.request(PATHS.status, { headers: bearer(String(token.access_token)) });
      assert.equal(answer.status, 200, secret);
      await assert.rejects(
        connect(server, { id, secret: `${secret}+` }, options).getToken({}),
        isRefused('invalid_client', 401),
      );
    }
  });
}
