import assert from 'node:assert/strict';
import fs, { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite.ts';
import { createLogSync } from '../../src/store/sqlite-log-sync.ts';
import { auditEntry, NOW, replayRecord } from './samples.ts';

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'rdcp-log-sync-'));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

function opened(t: TestContext, file: string) {
  const store = createSqliteStore(file);
  t.after(() => store.close());
  return store;
}

const state = { scope: '*', expectedRevision: 0, settings: new Map([['DATABASE', { permanent: true }]]) };

test('a commit that syncs later is there for everybody at once, and tells when it is durable', async (t) => {
  const file = join(folder(t), 'state.db');
  const store = opened(t, file);
  const other = opened(t, file);
  const result = await store.commit({ state, audit: auditEntry(), now: NOW, syncLater: true });
  assert.equal(result.outcome, 'committed');
  assert.deepEqual((await other.load()).get('*')?.settings, state.settings);
  assert.ok(result.durable instanceof Promise);
  await result.durable;
});

test('a commit is durable when it resolves, unless it asks for less', async (t) => {
  const store = opened(t, join(folder(t), 'state.db'));
  await store.commit({ audit: auditEntry(), now: NOW, syncLater: true });
  const result = await store.commit({ audit: auditEntry(), now: NOW });
  assert.deepEqual(result, { outcome: 'committed' });
});

test('an answer that was kept is given out also while its sync is under way, after it', async (t) => {
  const store = opened(t, join(folder(t), 'state.db'));
  const replay = replayRecord();
  const result = await store.commit({ audit: auditEntry(), replay, now: NOW, syncLater: true });
  assert.ok(result.outcome === 'committed' && result.durable);
  const order: string[] = [];
  const durable = result.durable.then(() => order.push('durable'));
  const found = store.findReplay(replay.key, NOW).then((record) => order.push(record?.key ?? 'none'));
  await Promise.all([durable, found]);
  assert.deepEqual(order, ['durable', replay.key]);
});

test('those who come while a sync is under way share the next one', async (t) => {
  const file = join(folder(t), 'state.db');
  writeFileSync(`${file}-wal`, 'log');
  const log = createLogSync(file);
  t.after(() => log.close());
  const first = log.sync();
  await Promise.resolve();
  const second = log.sync();
  assert.notEqual(second, first);
  assert.equal(log.sync(), second);
  await Promise.all([first, second]);
  assert.equal(log.usable, true);
});

test('a disk that refused once is not believed, also by those who come later, until the log began anew', {
  skip: !hasFullDevice(),
}, async (t) => {
  const file = join(folder(t), 'state.db');
  // A device that takes no sync.
  symlinkSync('/dev/full', `${file}-wal`);
  const log = createLogSync(file);
  t.after(() => log.close());
  const first = assert.rejects(log.sync(), { code: 'EINVAL' });
  await Promise.resolve();
  const second = log.sync();
  const later = assert.rejects(second, /refused to keep/);
  await first;
  await later;
  assert.equal(log.usable, false);
  log.restarted();
  assert.equal(log.usable, true);
});

/** Makes syncs of a log fail as long as the function that it returns was not called. */
function refuseSyncs(t: TestContext): () => void {
  const heal = () => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  };
  t.after(heal);
  const mocked = t.mock.method(fs, 'fdatasync', (_: number, told: (error: Error) => void) => {
    setImmediate(told, Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }));
  });
  syncBuiltinESMExports();
  return heal;
}

test('what a disk refused to keep is moved out of the log before anything more is acknowledged', async (t) => {
  const file = join(folder(t), 'state.db');
  const store = opened(t, file);
  const log = () => statSync(`${file}-wal`).size;
  await store.commit({ audit: auditEntry(), now: NOW });
  const heal = refuseSyncs(t);
  const replay = replayRecord();
  const refused = await store.commit({ state, audit: auditEntry(), replay, now: NOW, syncLater: true });
  assert.ok(refused.outcome === 'committed' && refused.durable);
  await assert.rejects(refused.durable, { code: 'EIO' });

  const reader = new DatabaseSync(file);
  reader.exec('BEGIN; SELECT * FROM audit');
  await assert.rejects(store.commit({ audit: auditEntry(), now: NOW }), /refused/);
  await assert.rejects(store.findReplay(replay.key, NOW), /refused/);
  await assert.rejects(store.check(), /refused/);
  reader.close();

  heal();
  assert.ok(log() > 0);
  await store.check();
  assert.equal(log(), 0, 'the database holds it all');
  assert.equal((await store.findReplay(replay.key, NOW))?.key, replay.key);
  const next = await store.commit({ audit: auditEntry(), now: NOW, syncLater: true });
  assert.ok(next.outcome === 'committed' && next.durable);
  await next.durable;
});

function hasFullDevice(): boolean {
  return process.platform === 'linux';
}
