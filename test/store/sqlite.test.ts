import assert from 'node:assert/strict';
import fs, { mkdtempSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Commit } from '../../src/store/state-store.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { stateStoreContract } from './contract/contract.ts';
import { auditEntry, auditIds, change, NOW, replayRecord, until } from './contract/samples.ts';
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

/** A store whose syncs wait until their callback is called, by the test or at its end. */
async function withHeldSyncs(t: TestContext) {
  const fixture = await createFixture();
  const asked: ((error: Error | null) => void)[] = [];
  let held = true;
  const mock = t.mock.method(fs, 'fdatasync', (_log: number, done: (error: Error | null) => void) =>
    held ? asked.push(done) : done(null),
  );
  syncBuiltinESMExports();
  const store = await fixture.open();
  mock.mock.restore();
  syncBuiltinESMExports();
  t.after(async () => {
    held = false;
    for (const done of asked) done(null);
    await fixture.dispose();
  });
  return { store, fixture, asked };
}

test('a commit resolves once it is on the disk, and one sync serves all that came meanwhile', async (t) => {
  const { store, asked } = await withHeldSyncs(t);
  const done: string[] = [];
  const commit = (key: string, options: Partial<Commit> = {}) =>
    store.commit({ ...change(key, 0, { A: { permanent: true } }), ...options }).then(() => done.push(key));
  await commit('in the background', { background: true });
  await commit('synced later', { syncLater: true });
  assert.equal(asked.length, 0);
  const synced = store.sync!();
  const waiting = [commit('first'), commit('second'), commit('third')];
  await until(() => asked.length === 1, 'the first sync');
  assert.equal((await store.load()).size, 5);
  asked[0]!(null);
  await synced;
  await until(() => asked.length === 2, 'the second sync');
  assert.deepEqual(done, ['in the background', 'synced later']);
  asked[1]!(null);
  await Promise.all(waiting);
  assert.equal(asked.length, 2);
});

test('after a sync that failed nothing is acknowledged until the file is opened again', async (t) => {
  const { store, fixture, asked } = await withHeldSyncs(t);
  const refused = /could not be synced to the disk; restart the process/;
  const failing = assert.rejects(store.commit(change('acme', 0, { A: { permanent: true } })), refused);
  await until(() => asked.length === 1, 'the sync');
  asked[0]!(new Error('EIO: i/o error, fdatasync'));
  await failing;
  await assert.rejects(store.commit(change('other', 0, { A: { permanent: true } })), refused);
  await assert.rejects(store.check(), refused);
  assert.equal(asked.length, 1);
  assert.deepEqual([...(await (await fixture.open()).load()).keys()], ['acme']);
});
