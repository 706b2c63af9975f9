import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import type { ApiKeyRecord } from '../../src/options/options.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { KEYS } from '../support/server.ts';
import { bearer, exchangeKey, refresh, session, startTokenServer } from './tokens.ts';

const RECORD: ApiKeyRecord = {
  id: 'operator',
  hash: hashApiKey(KEYS.operator),
  clientId: 'operator-client',
  userId: 'ann',
  scopes: ['status', 'control'],
};
const CONTROL = { method: 'POST', body: { action: 'status' } };

/** A server with tenants whose keys file is changed, and what a token for its key may do. */
async function withKey(t: TestContext, scopes: ApiKeyRecord['scopes'] = RECORD.scopes) {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-token-key-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'keys.json');
  const write = (changes: Partial<ApiKeyRecord>) =>
    writeFileSync(file, JSON.stringify({ keys: [{ ...RECORD, scopes, ...changes }] }));
  write({});
  const server = await startTokenServer(
    t,
    { apiKeys: { file } },
    { config: { tenancy: { isolation: 'global' }, limits: { controlPerMinute: 1e6, readPerMinute: 1e6 } } },
  );
  const { body: issued } = await exchangeKey(server, 'operator');
  const key = { 'X-RDCP-API-Key': KEYS.operator };

  /** Waits until the key itself shows the change. */
  const change = async (changes: Partial<ApiKeyRecord>, shows: (who: Record<string, unknown>) => boolean) => {
    write(changes);
    const changedAt = performance.now();
    for (;;) {
      const { body } = await server.request<Record<string, unknown>>(PATHS.session, { headers: key });
      if (shows(body)) return;
      assert.ok(performance.now() - changedAt < 30_000, 'the keys file was not read');
    }
  };
  const may = async () => ({
    status: (await server.request(PATHS.status, { headers: bearer(issued.access_token) })).status,
    control: (await server.request(PATHS.control, { ...CONTROL, headers: bearer(issued.access_token) })).status,
  });
  return { server, issued, change, may };
}

const hasScopes = (scopes: string) => (who: Record<string, unknown>) => String(who.scopes) === scopes;

test('a token may do no more than its key may now, and as much again when the key may', async (t) => {
  const { server, issued, change, may } = await withKey(t);
  assert.deepEqual(await may(), { status: 200, control: 200 });

  await change({ scopes: ['status'] }, hasScopes('status'));
  assert.deepEqual(await may(), { status: 200, control: 403 });
  assert.deepEqual((await session(server, issued.access_token)).body.scopes, ['status']);
  const wide = await refresh<{ error: string }>(server, issued.refresh_token, { scope: 'control' });
  assert.deepEqual([wide.status, wide.body.error], [400, 'invalid_scope']);
  const { body: next } = await refresh(server, issued.refresh_token);
  assert.equal(next.scope, 'status');

  await change({ scopes: ['discovery'] }, hasScopes('discovery'));
  assert.equal((await refresh(server, next.refresh_token)).status, 400, 'nothing is left of it');
  assert.deepEqual((await session(server, next.access_token)).body.scopes, []);

  await change({ scopes: ['admin'] }, hasScopes('admin'));
  assert.deepEqual(await may(), { status: 200, control: 200 });
  assert.equal((await refresh(server, next.refresh_token)).body.scope, 'status control');
});

test('a token of an administrator keeps what is left of its key', async (t) => {
  const { server, issued, change, may } = await withKey(t, ['admin']);
  await change({ scopes: ['status'] }, hasScopes('status'));
  assert.deepEqual(await may(), { status: 200, control: 403 });
  assert.equal((await refresh(server, issued.refresh_token)).body.scope, 'status');
});

const moves: [string, Partial<ApiKeyRecord>, (who: Record<string, unknown>) => boolean][] = [
  ['moved to a tenant', { tenantId: 'acme' }, ({ tenantId }) => tenantId === 'acme'],
  ['given to another user', { userId: 'ben' }, ({ userId }) => userId === 'ben'],
  ['expired', { expiresAt: '2020-01-01T00:00:00.000Z' }, ({ error }) => error !== undefined],
];
for (const [what, changes, shows] of moves) {
  test(`a key that was ${what} leaves no token behind`, async (t) => {
    const { server, issued, change, may } = await withKey(t);
    assert.deepEqual(await may(), { status: 200, control: 200 });
    await change(changes, shows);
    assert.deepEqual(await may(), { status: 401, control: 401 });
    const refused = await refresh<{ error: string }>(server, issued.refresh_token);
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant']);
  });
}
