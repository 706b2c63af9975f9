import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { TOKEN_PATHS } from '../../src/wire/constants.ts';
import { KEYS } from '../support/server.ts';
import { basic, exchangeKey, post, refresh, session, startTokenServer } from './tokens.ts';

test('revoking either token ends the session; a token that is not known is no error', async (t) => {
  const server = await startTokenServer(t);
  for (const which of ['access_token', 'refresh_token'] as const) {
    const { body } = await exchangeKey(server, 'operator');
    const revoked = await post(server, TOKEN_PATHS.revoke, { token: body[which], token_type_hint: 'nonsense' });
    assert.equal(revoked.status, 200);
    assert.equal((await session(server, body.access_token)).status, 401);
    assert.equal((await refresh(server, body.refresh_token)).status, 400);
    assert.equal((await post(server, TOKEN_PATHS.revoke, { token: body[which] })).status, 200);
  }
  const { body } = await exchangeKey(server, 'operator');
  const [head = '', payload = ''] = body.access_token.split('.');
  const unknown = [
    'x',
    'a.b.c',
    KEYS.operator,
    `${head}.${payload}.AAAA`,
    body.refresh_token.replace(/.{22}$/, 'A'.repeat(22)),
    body.refresh_token.slice(0, -1),
    `rdcp_rt_${'A'.repeat(22)}.${'A'.repeat(43)}.${'A'.repeat(22)}`,
    'x'.repeat(60_000),
  ];
  for (const token of unknown) {
    assert.equal((await post(server, TOKEN_PATHS.revoke, { token })).status, 200, token.slice(0, 40));
  }
  assert.equal((await session(server, body.access_token)).status, 200, 'nothing of it has ended the session');
  assert.equal((await refresh(server, body.refresh_token)).status, 200);
});

test('a client that says who it is revokes its own tokens alone', async (t) => {
  const server = await startTokenServer(t);
  const { body } = await exchangeKey(server, 'operator');
  const other = basic('status-client', KEYS.status);
  const refused = await post(server, TOKEN_PATHS.revoke, { token: body.refresh_token }, other);
  assert.deepEqual([refused.status, refused.body.error], [400, 'unauthorized_client']);
  const wrong = await post(server, TOKEN_PATHS.revoke, { token: body.refresh_token }, basic('operator-client', 'x'));
  assert.deepEqual([wrong.status, wrong.body.error], [401, 'invalid_client']);
  assert.equal((await session(server, body.access_token)).status, 200);
  await post(server, TOKEN_PATHS.revoke, { token: body.refresh_token }, basic('operator-client', KEYS.operator));
  assert.equal((await session(server, body.access_token)).status, 401);
});

test('a session ends in every process that shares the store within a second', async (t) => {
  const store = createMemoryStore();
  const shared = { ...store, close: async () => undefined };
  const [here, there] = [
    await startTokenServer(t, {}, { store: shared }),
    await startTokenServer(t, {}, { store: shared }),
  ];
  const { body } = await exchangeKey(here, 'operator');
  assert.equal((await session(there, body.access_token)).status, 200);
  await post(here, TOKEN_PATHS.revoke, { token: body.refresh_token });
  assert.equal((await session(here, body.access_token)).status, 401);
  assert.equal((await refresh(there, body.refresh_token)).status, 400);
  const revokedAt = performance.now();
  while ((await session(there, body.access_token)).status !== 401) {
    assert.ok(performance.now() - revokedAt < 30_000, 'still accepted');
  }
});

/** Keys in a file, as a service has them that revokes one. */
function keysFile(t: TestContext, ...names: ('operator' | 'status')[]) {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-token-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'keys.json');
  const write = (...kept: string[]) => {
    const keys = kept.map((id) => ({
      id,
      hash: `sha256:${createHash('sha256')
        .update(KEYS[id as 'operator'])
        .digest('hex')}`,
      clientId: `${id}-client`,
      scopes: ['status', 'control'],
    }));
    writeFileSync(file, JSON.stringify({ keys }));
  };
  write(...names);
  return { file, write };
}

test('with an API key end the tokens that were issued for it', async (t) => {
  const { file, write } = keysFile(t, 'operator', 'status');
  const server = await startTokenServer(t, { apiKeys: { file } });
  const { body } = await exchangeKey(server, 'operator');
  const { body: other } = await exchangeKey(server, 'status');
  assert.equal((await session(server, body.access_token)).status, 200);
  write('status');
  const revokedAt = performance.now();
  while ((await session(server, body.access_token)).status !== 401) {
    assert.ok(performance.now() - revokedAt < 30_000, 'still accepted');
  }
  assert.equal((await refresh(server, body.refresh_token)).status, 400);
  assert.equal((await session(server, other.access_token)).status, 200);
});
