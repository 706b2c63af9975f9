import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

test('a disk that refuses once is not believed again', { skip: !hasFullDevice() }, async (t) => {
  const file = join(folder(t), 'state.db');
  // A device that takes no sync.
  symlinkSync('/dev/full', `${file}-wal`);
  const log = createLogSync(file);
  t.after(() => log.close());
  await assert.rejects(log.sync(), { code: 'EINVAL' });
  assert.equal(log.usable, false);
});

function hasFullDevice(): boolean {
  return process.platform === 'linux';
}
