import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { stateStoreContract } from './contract/contract.ts';
import { auditEntry, auditIds, change, NOW, replayRecord } from './contract/samples.ts';
import { fixtureOf, type StoreFixture } from './contract/suite.ts';

async function createFixture(): Promise<StoreFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-sqlite-'));
  return fixtureOf(
    () => createSqliteStore(join(folder, 'state.db')),
    () => rmSync(folder, { recursive: true }),
  );
}

stateStoreContract('sqlite', true, createFixture);

async function opened(t: TestContext) {
  const fixture = await createFixture();
  t.after(() => fixture.dispose());
  return fixture.open();
}

test('of a commit whose entry cannot be written nothing is kept', async (t) => {
  const store = await opened(t);
  const unwritable = { ...auditEntry(), action: null } as unknown as AuditEntry;
  await assert.rejects(store.commit({ ...change('acme', 0, { A: { permanent: true } }), audit: unwritable }));
  assert.equal((await store.load()).size, 0);
  assert.deepEqual(await auditIds(store), []);
});

test('the file does not grow by answers that are over, nor by messages', async (t) => {
  const prepare = t.mock.method(DatabaseSync.prototype, 'prepare');
  const store = await opened(t);
  const database = prepare.mock.calls[0]?.this as DatabaseSync;
  const rows = (table: string) => database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows;
  for (const key of ['1', '2', '3']) {
    const now = NOW + Number(key) * 10;
    const replay = replayRecord({ key, expiresAt: now + 10 });
    await store.commit(change('acme', Number(key) - 1, { A: { permanent: true } }, { replay, now }));
  }
  for (let sent = 0; sent < 520; sent += 1) await store.messages?.send('');
  assert.deepEqual([rows('replay'), rows('message')], [1, 500]);
});

test('a commit that is answered is synced, and one that nobody waits for is not', async (t) => {
  const store = await opened(t);
  const exec = t.mock.method(DatabaseSync.prototype, 'exec');
  for (const [revision, background] of [false, true, true, false].entries()) {
    await store.commit({ ...change('acme', revision, { A: { permanent: true } }), background });
  }
  const settings = exec.mock.calls.map((call) => call.arguments[0]);
  assert.deepEqual(settings, ['PRAGMA synchronous = NORMAL', 'PRAGMA synchronous = FULL']);
});
