import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOKEN_PATHS } from '../../src/protocol/constants.ts';
import type { OAuthErrorResponse } from '../../src/protocol/messages.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { KEYS } from '../support/server.ts';
import { askToken, exchangeKey, post, refresh, session, startTokenServer } from './tokens.ts';

const credentials = { grant_type: 'client_credentials' };
const operator = { client_id: 'operator-client', client_secret: KEYS.operator };

test('when the trail cannot be written nothing is handed out, and nothing is left behind', async (t) => {
  let broken = false;
  const server = await startTokenServer(
    t,
    {},
    {
      wrap: ({ record }) => ({ record: (draft) => (broken ? Promise.reject(new Error('disk full')) : record(draft)) }),
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
  const { tokens } = store;
  assert.ok(tokens);
  const fragile = new Proxy(tokens, {
    get: (target, name) => (away ? () => Promise.reject(new Error('away')) : Reflect.get(target, name)),
  });
  const server = await startTokenServer(t, {}, { store: { ...store, tokens: fragile } });
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

test('each client has its limit, and so has each address', async (t) => {
  const server = await startTokenServer(t, {}, { config: { limits: { controlPerMinute: 2, readPerMinute: 6 } } });
  for (const expected of [200, 200, 429]) {
    const { status, headers } = await askToken(server, { ...credentials, ...operator });
    assert.equal(status, expected);
    if (status === 429) assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  }
  const status = { ...credentials, client_id: 'status-client', client_secret: KEYS.status };
  for (const expected of [200, 200, 429, 429]) assert.equal((await askToken(server, status)).status, expected);
  const again = await askToken<OAuthErrorResponse>(server, {
    ...credentials,
    client_id: 'discovery-client',
    client_secret: KEYS.discovery,
  });
  assert.deepEqual(
    [again.status, again.body.error],
    [429, 'temporarily_unavailable'],
    'the address has spent its quota',
  );
});

test('wrong credentials are limited as wrong credentials in a header are', async (t) => {
  const server = await startTokenServer(t, {}, { config: { limits: { anonymousPerMinute: 2 } } });
  const wrong = { ...credentials, client_id: 'operator-client', client_secret: 'x'.repeat(40) };
  for (const expected of [401, 401, 429]) assert.equal((await askToken(server, wrong)).status, expected);
  assert.equal((await askToken(server, { ...credentials, ...operator })).status, 200);
});
