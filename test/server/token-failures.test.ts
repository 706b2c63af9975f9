import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { KEYS, withMembers } from '../support/server.ts';
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
