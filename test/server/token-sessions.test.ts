import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse, WellKnownDocument } from '../../src/wire/messages.ts';
import { AUDIENCE, claims, ISSUER, SECRET, secretBytes, sign } from '../auth/tokens.ts';
import { newFolder } from '../support/folder.ts';
import { KEYS, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { virtualTimers } from '../support/virtual-time.ts';
import {
  ACCESS_TOKEN,
  askToken,
  credentials,
  exchangeKey,
  operator,
  post,
  refresh,
  session,
  startTokenServer,
  TOKEN_EXCHANGE,
  type TokenAnswer,
  tokenSettings,
} from './tokens.ts';

test('a token has the claims of RFC 9068 and nothing secret', async (t) => {
  const server = await startTokenServer(t);
  const { headers, body } = await askToken(server, { ...credentials, ...operator });
  assert.deepEqual([headers.get('cache-control'), headers.get('pragma')], ['no-store', 'no-cache']);
  assert.deepEqual(Object.keys(body).toSorted(), [
    'access_token',
    'expires_in',
    'protocol',
    'scope',
    'timestamp',
    'token_type',
  ]);
  assert.deepEqual(decodeProtectedHeader(body.access_token), { alg: 'HS256', typ: 'at+jwt' });
  const { iat = 0, exp = 0, sid, jti, ...rest } = decodeJwt(body.access_token);
  assert.equal(exp - iat, 900);
  assert.match(String(sid), /^[\w-]{22}$/);
  assert.match(String(jti), /^[\w-]{22}$/);
  assert.deepEqual(rest, {
    iss: tokenSettings.issuer,
    aud: 'rdcp',
    sub: 'operator-client',
    client_id: 'operator-client',
    scope: 'discovery status control',
    otelrdcp_key: 'operator',
  });
  const { body: who } = await session(server, body.access_token);
  assert.deepEqual(
    [who.method, who.userId, who.scopes, who.sessionId, Date.parse(who.expiresAt ?? '')],
    ['bearer', 'operator-client', ['discovery', 'status', 'control'], sid, exp * 1000],
  );
});

test('what was issued, refreshed and revoked is in the trail, with whom and from where', async (t) => {
  const server = await startTokenServer(t);
  const { body } = await exchangeKey(server, 'operator', { scope: 'status' });
  const next = await refresh(server, body.refresh_token);
  await post(server, TOKEN_PATHS.revoke, { token: next.body.access_token }, { 'X-RDCP-Request-ID': 'revoking' });
  await post(server, TOKEN_PATHS.revoke, { token: next.body.access_token });
  const { body: trail } = await server.request<AuditResponse>('/rdcp/v1/audit', { key: 'admin' });
  const entries = trail.entries.filter(({ action }) => action.startsWith('token.'));
  assert.deepEqual(
    entries.map(({ action, outcome }) => [action, outcome]),
    [
      ['token.revoke', 'success'],
      ['token.refresh', 'success'],
      ['token.issue', 'success'],
    ],
  );
  for (const entry of entries) {
    assert.equal(entry.identity.userId, 'operator-client');
    assert.equal(entry.identity.sessionId, decodeJwt(body.access_token).sid);
    assert.deepEqual(entry.identity.scopes, ['status']);
    assert.equal(entry.source?.address, '127.0.0.1');
    assert.deepEqual([entry.categories, entry.changes], [[], []]);
  }
  assert.equal(entries[0]?.requestId, 'revoking');
  const written = JSON.stringify(trail);
  for (const secret of [body.access_token, body.refresh_token, next.body.refresh_token, KEYS.operator]) {
    assert.ok(!written.includes(secret));
  }
});

test('the well-known document names the endpoints of tokens that this server has', async (t) => {
  const { body: with_ } = await (await startTokenServer(t)).request<WellKnownDocument>('/.well-known/rdcp');
  assert.equal(with_.security.tokenRefresh, true);
  assert.deepEqual(with_.security.methods, ['api-key', 'bearer']);
  assert.equal(with_.otelrdcp_endpoints.token, TOKEN_PATHS.token);
  assert.equal(with_.otelrdcp_endpoints.revoke, TOKEN_PATHS.revoke);
  assert.equal(with_.otelrdcp_endpoints.metadata, TOKEN_PATHS.metadata);
  assert.equal('jwks' in with_.otelrdcp_endpoints, false);
  const without = await startTokenServer(t, { level: 'basic', tokens: undefined });
  const { body } = await without.request<WellKnownDocument>('/.well-known/rdcp');
  assert.equal(body.security.tokenRefresh, false);
  assert.equal('token' in body.otelrdcp_endpoints, false);
  for (const path of Object.values(TOKEN_PATHS)) {
    const { status, body: refused } = await post<ErrorResponse>(without, path, { grant_type: 'client_credentials' });
    assert.deepEqual([status, refused.error.code], [404, 'RDCP_NOT_FOUND']);
  }
});

test('the store holds no token, only the hash of the one that is in force', async (t) => {
  const store = createMemoryStore();
  const begun: string[] = [];
  const { records } = store;
  assert.ok(records);
  const recording = {
    ...store,
    records: {
      ...records,
      write: (...written: Parameters<typeof records.write>) => {
        begun.push(JSON.stringify(written));
        return records.write(...written);
      },
    },
  };
  const server = await startTokenServer(t, {}, { store: recording });
  const { body } = await exchangeKey(server, 'operator');
  const [kept = ''] = begun;
  const secret = body.refresh_token.split('.')[1] ?? '';
  assert.equal(secret.length, 43);
  for (const part of [body.refresh_token, secret, body.access_token, KEYS.operator]) assert.ok(!kept.includes(part));
  assert.ok(kept.includes(createHash('sha256').update(body.refresh_token).digest('base64url')));
});

test('of fifty uses of one refresh token at once exactly one wins, and the session is revoked', async (t) => {
  const server = await startTokenServer(t);
  const { body: first } = await exchangeKey(server, 'operator');
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(server, first.refresh_token)));
  const winners = answers.filter(({ status }) => status === 200);
  assert.equal(winners.length, 1);
  const refused = answers.filter(({ status }) => status === 400).map(({ body }) => body);
  const invalid = { error: 'invalid_grant', error_description: 'The token is not valid' };
  assert.deepEqual(refused, Array(49).fill(invalid));
  const won = winners[0]?.body as TokenAnswer;
  for (const token of [first.access_token, won.access_token]) assert.equal((await session(server, token)).status, 401);
  assert.equal((await refresh(server, won.refresh_token)).status, 400);
  const { body: trail } = await server.request<AuditResponse>('/rdcp/v1/audit', { key: 'admin' });
  const entries = (action: string) => trail.entries.filter((entry) => entry.action === action);
  assert.deepEqual([entries('token.issue').length, entries('token.refresh').length], [1, 1]);
  const [reused, ...others] = entries('token.reuse');
  assert.deepEqual(others, []);
  assert.deepEqual([reused?.outcome, reused?.error], ['denied', 'RDCP_AUTH_FAILED']);
  assert.deepEqual(
    [reused?.identity.clientId, reused?.identity.sessionId],
    ['operator-client', decodeJwt(first.access_token).sid],
  );
});

test('a token that is not known, or made up for a known session, is revoked without an error, and ends nothing', async (t) => {
  const server = await startTokenServer(t);
  const { body } = await exchangeKey(server, 'operator');
  const [head = '', payload = ''] = body.access_token.split('.');
  const unknown = [
    'x',
    'a.b.c',
    KEYS.operator,
    `${head}.${payload}.AAAA`,
    body.refresh_token.replace(/.{22}$/, 'A'.repeat(22)),
    body.refresh_token.slice(0, -1),
    body.refresh_token.replace(/\.[\w-]{43}\./, `.${'A'.repeat(43)}.`),
    `rdcp_rt_${String(decodeJwt(body.access_token).sid)}.${'A'.repeat(43)}.${'A'.repeat(22)}`,
    `rdcp_rt_${'A'.repeat(22)}.${'A'.repeat(43)}.${'A'.repeat(22)}`,
    'x'.repeat(60_000),
  ];
  for (const token of unknown) {
    assert.equal((await post(server, TOKEN_PATHS.revoke, { token })).status, 200, token.slice(0, 40));
    assert.equal((await refresh(server, token)).status, 400, token.slice(0, 40));
  }
  assert.equal((await session(server, body.access_token)).status, 200, 'nothing of it has ended the session');
  assert.equal((await refresh(server, body.refresh_token)).status, 200);
});

/** Keys in a file, as a service has them that revokes one. */
function keysFile(t: TestContext, ...names: ('operator' | 'status')[]) {
  const directory = newFolder(t);
  const file = join(directory, 'keys.json');
  const write = (...kept: string[]) => {
    const keys = kept.map((id) => ({
      ...{ id, hash: hashApiKey(KEYS[id as 'operator']), clientId: `${id}-client` },
      scopes: ['status', 'control'],
    }));
    writeFileSync(file, JSON.stringify({ keys }));
  };
  write(...names);
  return { file, write };
}

const MINUTE = 60_000;
/** When an access token of 15 minutes is refused as expired: clocks may differ by a minute. */
const TOKEN_END = 16 * MINUTE;

/** The refresh token of `first` was exchanged for `second`. */
type Began = Readonly<Record<'first' | 'second', TokenAnswer>> & { server: TestServer; removeKey(): Promise<void> };
const logout = ({ server }: Began, token: string) => post(server, TOKEN_PATHS.revoke, { token });
const reuse = ({ server, first }: Began, fields = {}) => refresh(server, first.refresh_token, fields);

const ENDINGS: Readonly<Record<string, (session: Began) => unknown>> = {
  'logout with the access token': (session) => logout(session, session.second.access_token),
  'logout with the refresh token': (session) => logout(session, session.second.refresh_token),
  'reuse of a refresh token': (session) => reuse(session),
  'reuse by another client': (session) => reuse(session, { client_id: 'thief' }),
  'reuse for a scope that does not exist': (session) => reuse(session, { scope: 'everything' }),
  'removal of the API key': ({ removeKey }) => removeKey(),
};

const exchangeToken = (server: TestServer, token: string) =>
  askToken(server, { grant_type: TOKEN_EXCHANGE, subject_token: token, subject_token_type: ACCESS_TOKEN });

for (const [ending, end] of Object.entries(ENDINGS)) {
  test(`after ${ending}, every process refuses the tokens of the session, and no others, until they expire`, async (t) => {
    const time = virtualTimers(t);
    const store = { ...createMemoryStore(), close: async () => undefined };
    const { file, write } = keysFile(t, 'operator', 'status');
    const start = () => startTokenServer(t, { apiKeys: { file } }, { store, clock: time.clock });
    const [server, other] = [await start(), await start()];
    const { body: bystander } = await exchangeKey(server, 'status');
    const { body: first } = await exchangeKey(server, 'operator');
    const { body: second } = await refresh(server, first.refresh_token);
    const { body: derived } = await exchangeToken(server, second.access_token);
    const issuedAt = time.clock.now();
    const removeKey = async () => {
      write('status');
      await time.pass(500);
      for (const each of [server, other]) {
        await until('the keys file is read', async () => (await exchangeKey(each, 'operator')).status === 400);
      }
    };
    await end({ server, first, second, removeKey });
    assert.equal((await session(server, second.access_token)).status, 401, 'at once');
    for (const each of [server, other]) {
      for (const { refresh_token: token } of [second, derived]) assert.equal((await refresh(each, token)).status, 400);
    }
    for (const at of [1000, MINUTE, 3 * MINUTE, TOKEN_END - 1000]) {
      // Polls once at the end, not twice a second.
      time.suspend(issuedAt + at - 500 - time.clock.now());
      await time.pass(500);
      const processes = { 'the same process': server, 'another process': other, 'a new process': await start() };
      for (const [name, each] of Object.entries(processes)) {
        const message = `${name}, after ${at / 1000} s`;
        for (const { access_token: token } of [first, second, derived]) {
          assert.equal((await session(each, token)).status, 401, message);
        }
        assert.equal((await refresh(each, derived.refresh_token)).status, 400, message);
        assert.equal((await session(each, bystander.access_token)).status, 200, message);
      }
    }
  });
}

test('a session ends with the credential that it was begun with', async (t) => {
  const time = virtualTimers(t);
  const jwt = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256' as const], secret: SECRET };
  const server = await startTokenServer(t, { jwt }, { clock: time.clock });
  const now = time.clock.now() / 1000;
  const end = now + 300;
  const token = await sign(secretBytes(), { alg: 'HS256' }, claims({ iat: now, exp: end }));
  let { body } = await exchangeToken(server, token);
  for (const left of [300, 60, 1]) {
    time.suspend((end - left) * 1000 - time.clock.now());
    ({ body } = await refresh(server, body.refresh_token));
    assert.equal(body.expires_in, left);
  }
  time.suspend(1000);
  assert.equal((await refresh(server, body.refresh_token)).status, 400);
});
