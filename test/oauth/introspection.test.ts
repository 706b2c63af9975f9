import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeJwt, SignJWT } from 'jose';
import { hashApiKey } from '../../src/auth/api-key.ts';
import type { AuditResponse } from '../../src/protocol/audit-messages.ts';
import type { Scope } from '../../src/protocol/constants.ts';
import { TOKEN_PATHS } from '../../src/protocol/constants.ts';
import type { IntrospectionResponse, OAuthErrorResponse } from '../../src/protocol/oauth-messages.ts';
import {
  ACCESS_TOKEN,
  askToken,
  basic,
  bearer,
  exchangeKey,
  post,
  refresh,
  SECRET,
  session,
  startTokenServer,
  TOKEN_EXCHANGE,
  tokenSettings,
} from '../server/tokens.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { KEYS, type KeyName, startServer, type TestServer } from '../support/server.ts';
import { http2Request, http2Session } from '../support/tls-client.ts';

type Asker = Pick<TestServer, 'request'>;

const introspect = (server: Asker, token: string, key: KeyName = 'operator', fields: Record<string, string> = {}) =>
  post<IntrospectionResponse>(server, TOKEN_PATHS.introspect, { token, ...fields }, basic(`${key}-client`, KEYS[key]));

const INACTIVE = { active: false };

test('an access token is described by its claims', async (t) => {
  const server = await startTokenServer(t);
  const { body: issued } = await exchangeKey(server, 'operator', { scope: 'control status' });
  const { status, headers, body } = await introspect(server, issued.access_token);
  const { exp, iat, jti, sid } = decodeJwt(issued.access_token);
  assert.deepEqual([status, headers.get('cache-control')], [200, 'no-store']);
  assert.deepEqual(body, {
    active: true,
    scope: 'status control',
    client_id: 'operator-client',
    sub: 'operator-client',
    iss: tokenSettings.issuer,
    aud: 'rdcp',
    exp,
    iat,
    jti,
    sid,
    token_type: 'Bearer',
    token_use: 'access_token',
  });
});

test('a refresh token is described as one, so that no resource server accepts it', async (t) => {
  const server = await startTokenServer(t);
  const { body: issued } = await exchangeKey(server, 'operator', { scope: 'status' });
  for (const hint of ['refresh_token', 'access_token', 'nonsense']) {
    const { body } = await introspect(server, issued.refresh_token, 'operator', { token_type_hint: hint });
    assert.partialDeepStrictEqual(body, {
      active: true,
      scope: 'status',
      client_id: 'operator-client',
      aud: tokenSettings.issuer,
      token_type: 'N_A',
      token_use: 'refresh_token',
      sid: decodeJwt(issued.access_token).sid,
    });
    assert.ok(body.active && body.exp > (decodeJwt(issued.access_token).exp ?? 0), 'it lives as long as the session');
  }
  // To ask about it is no use of it.
  assert.equal((await refresh(server, issued.refresh_token)).status, 200);
});

test('a token that is not good is inactive and nothing else, whatever the reason', async (t) => {
  const server = await startTokenServer(t);
  const { body: first } = await exchangeKey(server, 'operator');
  const { body: second } = await refresh(server, first.refresh_token);
  const claims = decodeJwt(second.access_token);
  const sign = (changes: object, secret = SECRET) =>
    new SignJWT({ ...claims, ...changes })
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
      .sign(new TextEncoder().encode(secret));
  const bad: Readonly<Record<string, string>> = {
    'a refresh token that was replaced': first.refresh_token,
    'an expired token': await sign({ exp: Math.floor(Date.now() / 1000) - 120 }),
    'a token of another maker': await sign({}, `${SECRET}!`),
    'a token of another audience': await sign({ aud: 'billing' }),
    'a token whose key has gone': await sign({ otelrdcp_key: 'nobody' }),
    'an API key': KEYS.operator,
    'a made-up refresh token': second.refresh_token.replace(/.{22}$/, 'A'.repeat(22)),
    nonsense: 'x',
    'a long text': 'x'.repeat(60_000),
  };
  for (const [what, token] of Object.entries(bad)) {
    const { status, body } = await introspect(server, token, 'admin');
    assert.deepEqual([status, body], [200, INACTIVE], what);
  }
  assert.equal((await introspect(server, second.refresh_token)).body.active, true, 'asking has ended nothing');

  await post(server, TOKEN_PATHS.revoke, { token: second.access_token });
  for (const token of [first.access_token, second.access_token, second.refresh_token]) {
    assert.deepEqual((await introspect(server, token, 'admin')).body, INACTIVE);
  }
});

test('introspection needs the credential of a client', async (t) => {
  const server = await startTokenServer(t);
  const { body: issued } = await exchangeKey(server, 'operator');
  const cases: [string, Record<string, string>, Record<string, string>, number, string][] = [
    ['nobody', {}, {}, 401, 'invalid_client'],
    ['a client id alone', { client_id: 'operator-client' }, {}, 401, 'invalid_client'],
    ['a wrong secret', {}, basic('operator-client', 'x'), 401, 'invalid_client'],
    ['another client’s secret', {}, basic('admin-client', KEYS.operator), 401, 'invalid_client'],
    ['the token itself', {}, bearer(issued.access_token), 401, 'invalid_client'],
    ['an API key in its header', {}, { 'X-RDCP-API-Key': KEYS.admin }, 401, 'invalid_client'],
    ['a client without a token', { token: '' }, basic('operator-client', KEYS.operator), 400, 'invalid_request'],
  ];
  for (const [who, fields, headers, status, error] of cases) {
    const form = { token: issued.access_token, ...fields };
    const refused = await post(server, TOKEN_PATHS.introspect, form, headers);
    assert.deepEqual([refused.status, refused.body.error], [status, error], who);
    assert.equal(refused.headers.has('www-authenticate'), status === 401, who);
  }
  const byBody = { token: issued.access_token, client_id: 'operator-client', client_secret: KEYS.operator };
  assert.equal((await post<IntrospectionResponse>(server, TOKEN_PATHS.introspect, byBody)).body.active, true);
});

/** Clients of two tenants and of none, in each of which one is an administrator. */
const PEOPLE = [
  { id: 'acme-app', tenantId: 'acme', scopes: ['status'] },
  { id: 'acme-other', tenantId: 'acme', scopes: ['status'] },
  { id: 'acme-admin', tenantId: 'acme', scopes: ['admin'] },
  { id: 'globex-app', tenantId: 'globex', scopes: ['status'] },
  { id: 'globex-admin', tenantId: 'globex', scopes: ['admin'] },
  { id: 'app', scopes: ['status'] },
  { id: 'admin', scopes: ['admin'] },
  // The same client at another tenant, and at none.
  { id: 'acme-app', record: 'acme-app-of-globex', tenantId: 'globex', scopes: ['status'] },
  { id: 'acme-app', record: 'acme-app-of-none', scopes: ['status'] },
] as const satisfies { id: string; record?: string; tenantId?: string; scopes: readonly Scope[] }[];

const SHOWN_TO: Readonly<Record<string, readonly string[]>> = {
  'acme-app': ['acme-app', 'acme-admin', 'admin'],
  'globex-app': ['globex-app', 'globex-admin', 'admin'],
  app: ['app', 'admin'],
  'acme-admin': ['acme-admin', 'admin'],
  admin: ['admin'],
  'acme-app-of-globex': ['acme-app-of-globex', 'globex-admin', 'admin'],
};

test('a token is shown to its own client, to an administrator of its tenant, and to one without a tenant', async (t) => {
  const nameOf = (person: (typeof PEOPLE)[number]) => ('record' in person ? person.record : person.id);
  const secretOf = (name: string) => `the-secret-of-${name}-which-is-long-enough`;
  const apiKeys = PEOPLE.map((person) => ({
    id: nameOf(person),
    hash: hashApiKey(secretOf(nameOf(person))),
    clientId: person.id,
    scopes: [...person.scopes],
    ...('tenantId' in person && { tenantId: person.tenantId }),
  }));
  const server = await startTokenServer(t, { apiKeys }, { config: { tenancy: { isolation: 'organization' } } });
  let compared = 0;
  for (const [owner, shown] of Object.entries(SHOWN_TO)) {
    const { body: issued } = await askToken(server, {
      grant_type: TOKEN_EXCHANGE,
      subject_token: secretOf(owner),
      subject_token_type: ACCESS_TOKEN,
    });
    for (const person of PEOPLE) {
      const name = nameOf(person);
      for (const token of [issued.access_token, issued.refresh_token]) {
        const { status, body } = await post<IntrospectionResponse>(
          server,
          TOKEN_PATHS.introspect,
          { token },
          basic(person.id, secretOf(name)),
        );
        assert.equal(status, 200);
        if (shown.includes(name)) assert.equal(body.active, true, `${owner} to ${name}`);
        else assert.deepEqual(body, INACTIVE, `${owner} to ${name}`);
        compared += 1;
      }
    }
  }
  assert.equal(compared, 6 * PEOPLE.length * 2);
});

test('clients are limited as with reads, and wrong ones as with wrong credentials', async (t) => {
  const limits = { readPerMinute: 3, controlPerMinute: 1, anonymousPerMinute: 2 };
  const server = await startTokenServer(t, {}, { config: { limits } });
  for (const expected of [200, 200, 200, 429]) {
    const { status, headers, body } = await introspect(server, 'x');
    assert.equal(status, expected);
    if (status !== 429) continue;
    assert.equal((body as unknown as OAuthErrorResponse).error, 'temporarily_unavailable');
    assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  }
  const other = await startTokenServer(t, {}, { config: { limits: { ...limits, readPerMinute: 100 } } });
  const wrong = () => post(other, TOKEN_PATHS.introspect, { token: 'x' }, basic('operator-client', 'wrong'));
  for (const expected of [401, 401, 429]) assert.equal((await wrong()).status, expected);
  assert.equal((await introspect(other, 'x')).status, 200, 'one who can prove it is served from the same address');
});

test('a server that does not know the tokens of another asks it, and obeys when they are revoked', async (t) => {
  const issuing = await startTokenServer(t);
  const as = (key: KeyName) => {
    const client = { clientId: `${key}-client`, clientSecret: KEYS[key] };
    const endpoint = issuing.url + TOKEN_PATHS.introspect;
    const introspection = { endpoint, ...client, issuer: tokenSettings.issuer, audience: 'rdcp' };
    return startServer(t, { config: { security: { level: 'standard', introspection } } });
  };
  const asking = await as('admin');
  const { body: issued } = await exchangeKey(issuing, 'operator', { scope: 'status' });
  const { status, body: who } = await session(asking, issued.access_token);
  assert.equal(status, 200);
  assert.partialDeepStrictEqual(who, {
    method: 'bearer',
    userId: 'operator-client',
    scopes: ['status'],
    sessionId: decodeJwt(issued.access_token).sid,
  });
  const switching = { method: 'POST', headers: bearer(issued.access_token), body: { action: 'status' } };
  assert.equal((await asking.request('/rdcp/v1/control', switching)).status, 403, 'with the scopes of the token');
  const refused = await session(asking, issued.refresh_token);
  assert.equal(refused.status, 401, 'a refresh token opens nothing');
  const { body: revoked } = await exchangeKey(issuing, 'operator');
  await post(issuing, TOKEN_PATHS.revoke, { token: revoked.refresh_token });
  assert.equal((await session(asking, revoked.access_token)).status, 401);
  const { body: trail } = await asking.request<AuditResponse>('/rdcp/v1/audit', { key: 'admin' });
  assert.ok(trail.entries.some(({ identity }) => identity.userId === 'operator-client'));

  const unseen = await session(await as('status'), issued.access_token);
  assert.equal(unseen.status, 401, 'a client without admin is not told of the tokens of others');
});

test('a token that is bound to a certificate is described with its thumbprint', async (t) => {
  const authority = createAuthority();
  const issue = (name: string, usage: 'server' | 'client') => authority.issue(name, { usage });
  const [server, ann] = [issue('localhost', 'server'), issue('ann', 'client')];
  const { cert, key, ca } = writePems({ cert: server.cert, key: server.key, ca: authority.cert });
  const tls = { certFile: cert, keyFile: key, clientCaFile: ca };
  const { url } = await startTokenServer(t, { level: 'enterprise' }, { config: { server: { tls } } });
  const connection = await http2Session(t, url, { ca: authority.cert, cert: ann.cert, key: ann.key });
  const ask = async (path: string, fields: Record<string, string>) => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const form = new URLSearchParams({ client_id: 'operator-client', client_secret: KEYS.operator, ...fields });
    const answer = await http2Request(connection, { ':method': 'POST', ':path': path, ...type }, String(form));
    return JSON.parse(answer.text);
  };
  const { access_token: token } = await ask(TOKEN_PATHS.token, { grant_type: 'client_credentials' });
  const { cnf } = decodeJwt(token);
  assert.ok(cnf);
  assert.partialDeepStrictEqual(await ask(TOKEN_PATHS.introspect, { token }), { active: true, cnf });
});
