import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { serveIntrospection } from '../auth/introspection-server.ts';
import { AUDIENCE, claims, ISSUER, SECRET, secretBytes, sign } from '../auth/tokens.ts';
import { KEYS, withMembers } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';
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
} from './tokens.ts';

test('when the trail cannot be written nothing is handed out, and nothing is left behind', async (t) => {
  let broken = false;
  const server = await startTokenServer(
    t,
    {},
    {
      wrap: ({ trail }) => ({
        trail: withMembers(trail, {
          record: (draft) => (broken ? Promise.reject(new Error('disk full')) : trail.record(draft)),
        }),
      }),
    },
  );
  const { body } = await exchangeKey(server, 'operator');
  broken = true;
  const refused = await exchangeKey(server, 'operator');
  assert.deepEqual(
    [refused.status, refused.body],
    [500, { error: 'temporarily_unavailable', error_description: 'The audit trail cannot be written now' }],
  );
  assert.ok(!refused.text.includes('eyJ') && !refused.text.includes('disk full'));
  assert.equal((await refresh(server, body.refresh_token)).status, 500);
  broken = false;
  assert.equal((await session(server, body.access_token)).status, 401, 'the session of the lost token has ended');
});

test('when the records cannot be reached it is 503, and the refresh token is not spent', async (t) => {
  const store = createMemoryStore();
  let away = false;
  const { records } = store;
  assert.ok(records);
  const fragile = new Proxy(records, {
    get: (target, name) => (away ? () => Promise.reject(new Error('away')) : Reflect.get(target, name)),
  });
  const server = await startTokenServer(t, {}, { store: { ...store, records: fragile } });
  const { body } = await exchangeKey(server, 'operator');
  away = true;
  for (const answer of [await exchangeKey(server, 'operator'), await refresh(server, body.refresh_token)]) {
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.equal((answer.body as unknown as OAuthErrorResponse).error, 'temporarily_unavailable');
  }
  assert.equal((await post(server, TOKEN_PATHS.revoke, { token: body.refresh_token })).status, 503);
  assert.equal((await session(server, body.access_token)).status, 200, 'what is known of revocations stays in force');
  away = false;
  assert.equal((await refresh(server, body.refresh_token)).status, 200);
});

test('each client has its limit, which is no other client’s', async (t) => {
  const server = await startTokenServer(t, {}, { config: { limits: { controlPerMinute: 2, readPerMinute: 2 } } });
  for (const expected of [200, 200, 429]) {
    const { status, headers } = await askToken(server, { ...credentials, ...operator });
    assert.equal(status, expected);
    if (status === 429) assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  }
  const status = { ...credentials, client_id: 'status-client', client_secret: KEYS.status };
  for (const expected of [200, 200, 429]) assert.equal((await askToken(server, status)).status, expected);
  const again = await askToken<OAuthErrorResponse>(server, status);
  assert.deepEqual([again.status, again.body.error], [429, 'temporarily_unavailable']);
});

/** One of each kind of request that holds no valid credential. */
const JUNK: readonly (readonly [string, Record<string, string>])[] = [
  [TOKEN_PATHS.token, { ...credentials, client_id: 'operator-client', client_secret: 'x'.repeat(40) }],
  [TOKEN_PATHS.token, { grant_type: 'refresh_token', refresh_token: `rdcp_rt_a.${'A'.repeat(43)}.${'A'.repeat(22)}` }],
  [TOKEN_PATHS.token, { grant_type: TOKEN_EXCHANGE, subject_token: 'a.b.c', subject_token_type: ACCESS_TOKEN }],
  [TOKEN_PATHS.token, { grant_type: 'password' }],
  [TOKEN_PATHS.revoke, { token: 'x' }],
];

test('requests without a valid credential are counted, and lock out no valid one behind the same address', async (t) => {
  const server = await startTokenServer(t, {}, { config: { limits: { anonymousPerMinute: JUNK.length } } });
  const { body } = await exchangeKey(server, 'operator');
  const { body: other } = await exchangeKey(server, 'operator');
  for (const [path, fields] of JUNK) assert.notEqual((await post(server, path, fields)).status, 429);
  for (const [path, fields] of JUNK) {
    const { status, body: refused, headers } = await post(server, path, fields);
    assert.deepEqual([path, status, refused.error], [path, 429, 'temporarily_unavailable']);
    assert.equal(headers.get('ratelimit-policy'), `"anonymous";q=${JUNK.length};w=60`);
  }
  const { body: next, status } = await refresh(server, body.refresh_token);
  assert.equal(status, 200);
  assert.equal((await exchangeKey(server, 'status')).status, 200);
  assert.equal((await askToken(server, { ...credentials, ...operator })).status, 200);
  for (const token of [next.access_token, other.refresh_token]) {
    assert.equal((await post(server, TOKEN_PATHS.revoke, { token })).status, 200);
  }
  assert.equal((await post(server, TOKEN_PATHS.revoke, { token: other.refresh_token })).status, 429, 'no longer good');
});

test('a body that is no form counts for its address too', async (t) => {
  const server = await startTokenServer(t, {}, { config: { limits: { anonymousPerMinute: 1 } } });
  const statuses = [];
  for (let count = 0; count < 2; count += 1) {
    statuses.push((await server.request(TOKEN_PATHS.token, { method: 'POST', body: {} })).status);
  }
  assert.deepEqual(statuses, [415, 429]);
});

test('a token that is good can be revoked although its client has spent its quota', async (t) => {
  const server = await startTokenServer(t, {}, { config: { limits: { controlPerMinute: 3 } } });
  const sessions = [];
  for (let count = 0; count < 3; count += 1) sessions.push((await exchangeKey(server, 'operator')).body);
  assert.equal((await exchangeKey(server, 'operator')).status, 429);
  for (const [index, { refresh_token: token, access_token: accessToken }] of sessions.entries()) {
    const fields = index === 0 ? { token } : { token: accessToken, ...operator };
    assert.equal((await post(server, TOKEN_PATHS.revoke, fields)).status, 200);
    assert.equal((await session(server, accessToken)).status, 401);
  }
  const unknown = await post(server, TOKEN_PATHS.revoke, { token: 'x', ...operator });
  assert.equal(unknown.status, 429, 'which a client that asks about unknown tokens does not get round');
});

/** Sends a bearer token to a service whose clients have one request without a valid credential in a minute. */
async function service(t: TestContext, security: RdcpConfig['security']) {
  const limits = { anonymousPerMinute: 1 };
  const { url } = await startService(t, { limits, security: { level: 'standard', ...security } });
  return async (token: string) => {
    const answer = await fetch(url + PATHS.status, { headers: { Authorization: `Bearer ${token}` } });
    await answer.body?.cancel();
    return answer.status;
  };
}

test('junk JWTs of any kind keep no new valid one of their address out', async (t) => {
  const jwt = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256' as const], secret: SECRET };
  const status = await service(t, { jwt });
  const now = Math.floor(Date.now() / 1000);
  const token = (changes: object) =>
    sign(secretBytes(), { alg: 'HS256' }, claims({ exp: now + 300, iat: now, ...changes }));
  const valid = (jti: number) => token({ jti: String(jti) });
  const good = await valid(-1);
  const [head, body] = good.split('.');
  const foreign = await token({ iss: 'https://other.example' });
  const expired = await token({ exp: now - 3600 });
  for (let round = 0; round < 20; round++) {
    const junk = [`a.b.c${round}`, 'x'.repeat(4000 + round), `${head}.${body}.${'A'.repeat(43)}`, foreign, expired];
    const refused = await Promise.all(junk.map(status));
    if (round > 0) assert.deepEqual(refused, [429, 429, 429, 429, 429]);
    assert.equal(await status(await valid(round)), 200, `a new token in round ${round}`);
  }
});

test('a valid opaque token that found no place in a flood of its address is accepted when it comes again', async (t) => {
  const release = Promise.withResolvers<void>();
  const issuer = await serveIntrospection(t, async (token) => {
    if (token === 'junk-0') return { active: false };
    if (token.startsWith('junk')) await release.promise;
    return token.startsWith('junk') ? { active: false } : { active: true, sub: 'ann', scope: 'status' };
  });
  const { endpoint } = issuer;
  const status = await service(t, { introspection: { endpoint, clientId: 'rdcp', clientSecret: 'secret' } });
  assert.equal(await status('junk-0'), 401);
  let answered = 0;
  const junk = Array.from({ length: 50 }, async (_, index) => {
    const refused = await status(`junk-${index + 1}`);
    answered += 1;
    return refused;
  });
  // One is asked about, and 28 wait for it.
  await until('the line is full', () => answered === 50 - 29);
  assert.equal(await status('good'), 429);
  assert.equal(await status('good'), 200);
  release.resolve();
  assert.deepEqual(new Set(await Promise.all(junk)), new Set([429]));
});
