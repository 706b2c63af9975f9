import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeJwt, SignJWT } from 'jose';
import { TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse } from '../../src/wire/messages.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { makeKey } from '../auth/records.ts';
import { KEYS, type TestAnswer } from '../support/server.ts';
import {
  ACCESS_TOKEN,
  askToken,
  basic,
  bearer,
  exchangeKey,
  operator,
  post,
  refresh,
  SECRET,
  session,
  startTokenServer,
  TOKEN_EXCHANGE,
  tokenSettings,
} from './tokens.ts';

const exchange = { grant_type: TOKEN_EXCHANGE, subject_token: KEYS.operator, subject_token_type: ACCESS_TOKEN };

type Fields = Record<string, string> | [string, string][] | string;
type Case = readonly [what: string, fields: Fields, headers?: Record<string, string>];

const asClient = (fields: object = {}) => ({ grant_type: 'client_credentials', ...fields });
const subjectType = (kind: string) => ({ ...exchange, subject_token_type: `urn:ietf:params:oauth:token-type:${kind}` });

/** Wrong requests for a token, by the status and the error that they are answered with. */
const REFUSED: Readonly<Record<string, readonly Case[]>> = {
  '400 invalid_request': [
    ['an empty form', ''],
    ['no grant type', { scope: 'status' }],
    ['an empty grant type', { grant_type: '' }],
    ['two grant types', [...Object.entries(asClient()), ['grant_type', 'refresh_token']]],
    ['two scopes fields', [...Object.entries(asClient({ scope: 'status' })), ['scope', 'admin']]],
    ['a secret alone', asClient({ client_secret: KEYS.operator })],
    ['two ways at once', asClient(operator), basic('operator-client', KEYS.operator)],
    ['another client id than Basic', asClient({ client_id: 'admin-client' }), basic('operator-client', KEYS.operator)],
    ['no subject', { grant_type: TOKEN_EXCHANGE, subject_token_type: ACCESS_TOKEN }],
    ['no subject type', { grant_type: TOKEN_EXCHANGE, subject_token: KEYS.operator }],
    ['an unknown subject type', subjectType('saml2')],
    ['an ID token as subject', subjectType('id_token')],
    ['a subject that is no token', { ...exchange, subject_token: 'x' }],
    [
      'an unknown key',
      { ...exchange, subject_token: KEYS.operator.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x')) },
    ],
    ['an actor', { ...exchange, actor_token: 'x', actor_token_type: ACCESS_TOKEN }],
    ['a refresh token', { ...exchange, requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }],
    ['no refresh token', { grant_type: 'refresh_token' }],
    ['a name with brackets, which stays a name', 'grant_type[]=client_credentials'],
    ['a name of a prototype', '__proto__[grant_type]=client_credentials'],
  ],
  '400 unsupported_grant_type': [
    ['an unknown grant type', { grant_type: 'password', username: 'a', password: 'b' }],
    ['the code grant', { grant_type: 'authorization_code', code: 'x' }],
    ['a grant type of an object', { grant_type: '__proto__' }],
  ],
  '401 invalid_client': [
    ['no client', asClient()],
    ['a client id alone', asClient({ client_id: 'operator-client' })],
    ['a wrong secret', asClient({ ...operator, client_secret: 'x'.repeat(40) })],
    ['the secret of another client', asClient({ ...operator, client_id: 'admin-client' })],
    ['a client id in other letters', asClient({ ...operator, client_id: 'Operator-Client' })],
    ['a wrong secret by Basic', asClient(), basic('operator-client', 'x')],
    ['a Basic without a colon', asClient(), { Authorization: `Basic ${btoa('operator-client')}` }],
    ['a Basic that is no base64', asClient(), { Authorization: 'Basic !!!' }],
    ['an empty Basic', asClient(), { Authorization: 'Basic ' }],
    ['a bearer token for a client', asClient(), bearer(KEYS.operator)],
    ['an API key in its header alone', asClient(), { 'X-RDCP-API-Key': KEYS.operator }],
    ['an exchange with a wrong client', { ...exchange, ...operator, client_secret: 'x'.repeat(40) }],
  ],
  '400 invalid_scope': [
    ['an unknown scope', { ...exchange, scope: 'status root' }],
    ['scopes with commas', { ...exchange, scope: 'status,control' }],
    ['scopes with two spaces', { ...exchange, scope: 'status  control' }],
    ['a scope in capitals', { ...exchange, scope: 'STATUS' }],
    ['a wider scope', { ...exchange, scope: 'admin' }],
  ],
  '400 invalid_target': [
    ['another audience', { ...exchange, audience: 'billing' }],
    ['another resource', { ...exchange, resource: 'https://billing.example/' }],
    [
      'another audience beside this one',
      [...Object.entries({ ...exchange, audience: 'rdcp' }), ['audience', 'billing']],
    ],
  ],
  '400 invalid_grant': [
    ['an unknown refresh token', { grant_type: 'refresh_token', refresh_token: 'x' }],
    ['an API key as refresh token', { grant_type: 'refresh_token', refresh_token: KEYS.operator }],
  ],
};

/** RFC 6749, section 5.2: the two fields, and of the characters that they may have. */
function assertOAuthForm(answer: TestAnswer<OAuthErrorResponse>, what: string): void {
  assert.deepEqual(Object.keys(answer.body), ['error', 'error_description'], `${what}: ${answer.text}`);
  assert.match(answer.body.error_description ?? '', /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/, what);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8', what);
  assert.equal(answer.headers.get('cache-control'), 'no-store', what);
  assert.equal(answer.headers.get('x-rdcp-protocol'), 'rdcp/1.0', what);
}

test('every wrong request for a token is answered as OAuth has it, with the code of the RFC', async (t) => {
  const server = await startTokenServer(t);
  for (const [expected, cases] of Object.entries(REFUSED)) {
    for (const [what, fields, headers] of cases) {
      const answer = await askToken<OAuthErrorResponse>(server, fields, headers);
      assertOAuthForm(answer, what);
      assert.equal(`${answer.status} ${answer.body.error}`, expected, `${what}: ${answer.text}`);
      const challenge = answer.status === 401 ? /^Basic realm="rdcp".* error="invalid_client"/ : /^$/;
      assert.match(answer.headers.get('www-authenticate') ?? '', challenge, what);
      assert.ok(!Object.values(KEYS).some((key) => answer.text.includes(key)), what);
      assert.ok(!/node_modules|\.ts\b|at \w+ \(/.test(answer.text), what);
    }
  }
  assert.deepEqual(server.reports, []);
});

test('the fields that RFC 8693 allows beside are accepted when they name this server', async (t) => {
  const server = await startTokenServer(t);
  const { status, body } = await askToken(server, {
    ...exchange,
    audience: 'rdcp',
    requested_token_type: ACCESS_TOKEN,
    client_id: 'anybody',
    something_else: 'ignored',
    scope: 'status',
  });
  assert.deepEqual([status, body.scope], [200, 'status']);
  const typed = await askToken(server, { ...exchange, subject_token_type: 'urn:rdcp:token-type:api-key' });
  assert.equal(typed.status, 200);
});

test('the type of a form is read in any spelling, and what is not there is no endpoint of OAuth', async (t) => {
  const server = await startTokenServer(t);
  const typed = { 'Content-Type': 'Application/X-WWW-Form-Urlencoded; charset="UTF-8"' };
  assert.equal((await askToken(server, { ...exchange }, typed)).status, 200);
  const notUtf8 = { method: 'POST', headers: typed, body: Buffer.from('grant_type=\xff', 'latin1') };
  assert.equal((await server.request(TOKEN_PATHS.token, notUtf8)).status, 400);
  for (const path of [TOKEN_PATHS.jwks, `${TOKEN_PATHS.token}/`]) {
    const { status, body } = await post<ErrorResponse>(server, path, { grant_type: 'client_credentials' });
    assert.deepEqual([status, body.error.code], [404, 'RDCP_NOT_FOUND'], path);
  }
});

test('no token of another kind or of another maker is taken for ours', async (t) => {
  const server = await startTokenServer(t);
  const { body: own } = await exchangeKey(server, 'operator');
  const content = decodeJwt(own.access_token);
  const secret = new TextEncoder().encode(SECRET);
  const sign = (claims: object, header: object = {}, key = secret) =>
    new SignJWT({ ...content, ...claims }).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', ...header }).sign(key);
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const attacks: Record<string, string> = {
    'a refresh token': own.refresh_token,
    'an unsigned token': `${encode({ alg: 'none', typ: 'at+jwt' })}.${encode(content)}.`,
    'a token without its signature': own.access_token.replace(/[^.]+$/, ''),
    'another secret': await sign({}, {}, new TextEncoder().encode(`${SECRET}!`)),
    'another issuer': await sign({ iss: 'https://other.example/' }),
    'another audience': await sign({ aud: 'billing' }),
    'no session': await sign({ sid: undefined, jti: undefined }),
    'an expired one': await sign({ exp: Math.floor(Date.now() / 1000) - 120 }),
    'one that never expires': await sign({ exp: undefined }),
    'a key that is gone': await sign({ otelrdcp_key: 'nobody' }),
    'another algorithm': await sign({}, { alg: 'HS512' }),
    'a nested one': await sign({}, { cty: 'JWT' }),
    'a critical header': `${encode({ alg: 'HS256', crit: ['x'], x: 1 })}.${own.access_token.split('.').slice(1).join('.')}`,
    'other claims under the signature': `${own.access_token.split('.')[0]}.${encode({ ...content, scope: 'admin' })}.${own.access_token.split('.')[2]}`,
  };
  for (const [what, token] of Object.entries(attacks)) {
    const { status, body } = await session(server, token);
    assert.equal(status, 401, what);
    assert.equal(body.error.code, 'RDCP_AUTH_FAILED', what);
    const exchanged = await askToken<OAuthErrorResponse>(server, {
      grant_type: TOKEN_EXCHANGE,
      subject_token: token,
      subject_token_type: ACCESS_TOKEN,
    });
    assert.deepEqual([exchanged.status, exchanged.body.error], [400, 'invalid_request'], what);
  }
  const accessAsRefresh = await refresh(server, own.access_token);
  assert.equal(accessAsRefresh.status, 400);
  assert.equal((await session(server, await sign({}))).status, 200, 'the attacks differ from this in one thing each');
});

test('a chain of exchanges ends, and no session of it outlives the one before', async (t) => {
  const server = await startTokenServer(t);
  let { body } = await exchangeKey(server, 'operator');
  let expiry = decodeJwt(body.access_token).exp ?? 0;
  const statuses: number[] = [];
  for (let depth = 0; depth < 5; depth += 1) {
    const next = await askToken(server, {
      grant_type: TOKEN_EXCHANGE,
      subject_token: body.access_token,
      subject_token_type: ACCESS_TOKEN,
    });
    statuses.push(next.status);
    if (next.status !== 200) break;
    assert.ok(String(decodeJwt(next.body.access_token).sid).startsWith(`${decodeJwt(body.access_token).sid}.`));
    const refreshed = await refresh(server, next.body.refresh_token);
    assert.ok((decodeJwt(refreshed.body.access_token).exp ?? 0) <= expiry);
    ({ body } = next);
    expiry = decodeJwt(body.access_token).exp ?? 0;
  }
  assert.deepEqual(statuses, [200, 200, 200, 400]);
});

test('the tenant of a credential is that of its tokens, and no header changes it', async (t) => {
  const { key, record } = makeKey({ clientId: 'acme-ops', tenantId: 'acme', scopes: ['status', 'control'] });
  const server = await startTokenServer(
    t,
    { apiKeys: [record] },
    { config: { tenancy: { isolation: 'organization' } } },
  );
  const subject = { ...exchange, subject_token: key };
  const { status, body } = await askToken<{ access_token: string; refresh_token: string; tenant: { id: string } }>(
    server,
    subject,
  );
  assert.deepEqual([status, body.tenant.id], [200, 'acme']);
  assert.equal((await session(server, body.access_token)).body.tenantId, 'acme');
  for (const fields of [subject, { grant_type: 'refresh_token', refresh_token: body.refresh_token }]) {
    const refused = await askToken<OAuthErrorResponse>(server, fields, { 'X-RDCP-Tenant-ID': 'other' });
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_request']);
    assert.deepEqual(server.authFailures.at(-1)?.[1], 'tenant_mismatch');
  }
  const next = await askToken<{ access_token: string }>(server, {
    grant_type: 'refresh_token',
    refresh_token: body.refresh_token,
  });
  assert.equal(decodeJwt(next.body.access_token).tenant_id, 'acme');
});

test('an issuer cannot be this server and another one at once', async (t) => {
  const jwt = { issuer: tokenSettings.issuer, audience: 'rdcp', algorithms: ['HS256' as const], secret: SECRET };
  await assert.rejects(startTokenServer(t, { jwt }), /is used by an earlier issuer/);
});
