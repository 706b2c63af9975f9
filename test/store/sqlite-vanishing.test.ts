// In a process of its own: it prepares a folder for all of its tests.

import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSqliteStore } from '../../src/store/sqlite.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { eventually, type Follower, follow } from './follower.ts';
import { auditIds, change, until } from './samples.ts';

// SQLite goes on writing into files that nobody will find again, without a word. What is acknowledged must not end there.

let folder: string;
let file: string;
let opened: StateStore[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rdcp-vanishing-'));
  file = join(folder, 'state.db');
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
  rmSync(folder, { recursive: true });
});

function open(): StateStore {
  const store = createSqliteStore(file);
  opened.push(store);
  return store;
}

function backUp(): string {
  const backup = join(folder, 'backup.db');
  const database = new DatabaseSync(file);
  database.exec(`VACUUM INTO '${backup}'`);
  database.close();
  return backup;
}

const set = (store: StateStore, expectedRevision: number, name = 'A') =>
  store.commit(change('acme', expectedRevision, { [name]: { permanent: true } }));

/** What a process finds that opens the file after everybody else was killed. */
async function foundAfterKill(): Promise<number | undefined> {
  const copy = join(folder, 'copy');
  for (const suffix of ['', '-wal']) {
    rmSync(copy + suffix, { force: true });
    try {
      copyFileSync(file + suffix, copy + suffix);
    } catch {}
  }
  const store = createSqliteStore(copy);
  try {
    return (await store.load()).get('acme')?.revision;
  } finally {
    await store.close();
  }
}

for (const [what, remove] of Object.entries({
  'log was removed': () => rmSync(`${file}-wal`),
  'log and shared memory were removed': () => {
    rmSync(`${file}-wal`);
    rmSync(`${file}-shm`);
  },
  'shared memory was removed': () => rmSync(`${file}-shm`),
  'log was moved away': () => renameSync(`${file}-wal`, join(folder, 'elsewhere')),
})) {
  test(`what is acknowledged after the ${what} is there after a kill, and what was before is too`, async () => {
    const store = open();
    for (let revision = 0; revision < 3; revision += 1) await set(store, revision);
    remove();
    const result = await eventually(() => set(store, 3));
    assert.equal(result.outcome, 'committed');
    assert.equal(await foundAfterKill(), 4);
    assert.equal((await auditIds(store)).length, 4);
    await store.check();
  });
}

test('of several processes each leaves a log that was removed, and none loses a change', async () => {
  const followers = await Promise.all([follow(open()), follow(open()), follow(open())]);
  const [a, b, c] = followers as [Follower, Follower, Follower];
  await set(a.store, 0);
  await set(b.store, 1);
  rmSync(`${file}-wal`);
  await eventually(() => set(c.store, 2));
  await eventually(() => set(a.store, 3));
  const follows = ({ store }: Follower) => store.fleet?.position()?.revision === 4;
  await until(() => followers.every(follows), 'all changes in all processes', 10_000);
  assert.equal(await foundAfterKill(), 4);
  assert.deepEqual(
    followers.flatMap(({ resets }) => resets),
    [],
  );
});

test('a truncated file takes no change, and says so, until it was put back', async () => {
  const { store, resets } = await follow(open());
  await set(store, 0);
  const backup = backUp();
  await set(store, 1);
  truncateSync(file, 0);
  await assert.rejects(set(store, 2), /the SQLite file was truncated/);
  await assert.rejects(store.check(), /truncated/);
  await assert.rejects(store.load(), /truncated/);
  await sleep(150);
  await assert.rejects(store.check(), /truncated/);

  copyFileSync(backup, file);
  const past = Date.now() / 1000 - 5;
  utimesSync(file, past, past);
  await until(() => resets.length === 1, 'word of the loss');
  assert.deepEqual(resets, [{ reason: 'rollback' }]);
  assert.equal((await store.load()).get('acme')?.revision, 1);
  assert.equal((await set(store, 1, 'B')).outcome, 'committed');
  assert.equal(await foundAfterKill(), 2);
});

test('a log that was cut short takes no change until the file was put back', async () => {
  const store = open();
  await set(store, 0);
  await set(store, 1);
  truncateSync(`${file}-wal`, 0);
  await assert.rejects(set(store, 2), /truncated/);
  await assert.rejects(store.check(), /truncated/);
});

test('a file that somebody vacuums, or takes the log over into, is whole', async () => {
  const store = open();
  for (let revision = 0; revision < 200; revision += 1) await set(store, revision);
  const other = new DatabaseSync(file);
  other.exec('PRAGMA wal_checkpoint(TRUNCATE); DELETE FROM audit; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  assert.equal((await set(store, 200)).outcome, 'committed');
  await store.check();
  other.close();
  assert.equal((await set(store, 201)).outcome, 'committed');
});

test('a file that was replaced by an older one is in force, once everybody was told that changes are lost', async () => {
  const followers = await Promise.all([follow(open()), follow(open())]);
  const [a, b] = followers as [Follower, Follower];
  const histories = followers.map(({ store }) => {
    const told: string[] = [];
    store.onReset?.(({ history }) => told.push(history));
    return told;
  });
  const before = a.store.fleet?.position();
  await set(a.store, 0);
  const backup = backUp();
  await set(a.store, 1);
  await set(b.store, 2);
  renameSync(backup, file);
  await assert.rejects(set(a.store, 3), /the SQLite file was replaced; what it holds now was read again/);
  await until(() => followers.every(({ resets }) => resets.length === 1), 'word of the loss');
  assert.deepEqual([a.resets, b.resets], [[{ reason: 'rollback' }], [{ reason: 'rollback' }]]);
  assert.deepEqual(histories[0], histories[1], 'one loss has one name');
  assert.notEqual(a.store.fleet?.position()?.history, before?.history);

  const late = await set(b.store, 3);
  assert.equal(late.outcome, 'conflict');
  assert.equal((await set(a.store, 1, 'B')).outcome, 'committed');
  await until(() => b.heard.get('acme')?.settings.has('B') === true, 'the change in the other process');
  assert.equal(await foundAfterKill(), 2);
});

test('a file that was moved away with its log written out, and comes back, has lost nothing', async () => {
  const { store, resets } = await follow(open());
  await set(store, 0);
  const elsewhere = join(folder, 'elsewhere.db');
  renameSync(file, elsewhere);
  await assert.rejects(set(store, 1), /is missing/);
  new DatabaseSync(file).close();
  await assert.rejects(set(store, 1), /replaced by a file of another application|is missing/);
  renameSync(elsewhere, file);
  assert.equal((await eventually(() => set(store, 1))).outcome, 'committed');
  assert.deepEqual(resets, []);
  assert.equal(await foundAfterKill(), 2);
});

test('a file that was removed takes nothing, and makes none, until one is put there', async () => {
  const { store, resets } = await follow(open());
  await set(store, 0);
  const backup = backUp();
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix);
  await assert.rejects(set(store, 1), /is missing/);
  await sleep(250);
  await assert.rejects(store.check(), /is missing/);
  copyFileSync(backup, file);
  assert.equal((await eventually(() => set(store, 1))).outcome, 'committed');
  assert.deepEqual(resets, [], 'it holds all that was acknowledged');
});

/** As `cat backup > state.db` or `rsync --inplace` do: the file stays the one that is open, and gets no shorter. */
function overwrite(content: Buffer): void {
  assert.ok(content.length >= statSync(file).size);
  writeFileSync(file, content, { flag: 'r+' });
}

/** Writes the log into the file, as SQLite does from time to time. */
function takeLogOver(): void {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
}

/** As if the file had been left alone for a while. */
function age(): void {
  const past = Date.now() / 1000 - 5;
  utimesSync(file, past, past);
}

for (const [how, backedUp] of Object.entries({
  'a copy of its own, from before a checkpoint': () => {
    takeLogOver();
    return readFileSync(file);
  },
  'a backup of other layout': () => readFileSync(backUp()),
})) {
  test(`a file that was overwritten in place by ${how} takes no change, and is in force once it is whole`, async () => {
    const { store, resets } = await follow(open());
    for (let revision = 0; revision < 3; revision += 1) await set(store, revision);
    takeLogOver();
    await store.check();
    const backup = backedUp();
    await set(store, 3);
    takeLogOver();
    await set(store, 4);
    overwrite(Buffer.concat([backup], Math.max(backup.length, statSync(file).size)));
    await assert.rejects(set(store, 5), /the SQLite file was overwritten/);
    await assert.rejects(store.check(), /overwritten/);
    age();
    await until(() => resets.length === 1, 'word of the loss');
    assert.deepEqual(resets, [{ reason: 'rollback' }]);
    assert.equal((await store.load()).get('acme')?.revision, 3);
    assert.equal((await set(store, 3, 'B')).outcome, 'committed');
    assert.equal(await foundAfterKill(), 4);
  });
}

test('a file that was overwritten in place by no database takes no change, and loses none once it was put back', async () => {
  const store = open();
  await set(store, 0);
  takeLogOver();
  await set(store, 1);
  const content = readFileSync(file);
  overwrite(Buffer.alloc(content.length, 'no database '));
  await assert.rejects(set(store, 2), /overwritten/);
  age();
  await assert.rejects(set(store, 2), /overwritten/);
  overwrite(content);
  assert.equal((await set(store, 2)).outcome, 'committed');
  assert.equal(await foundAfterKill(), 3);
});

test('a file in which a checkpoint got stuck, as on a full disk, takes changes', async () => {
  const store = open();
  await set(store, 0);
  takeLogOver();
  await set(store, 1);
  // The header's number of pages (https://www.sqlite.org/fileformat2.html, section 1.3) is written before the pages.
  const content = readFileSync(file);
  content.writeUInt32BE(content.readUInt32BE(28) + 3, 28);
  overwrite(content);
  assert.equal((await set(store, 2)).outcome, 'committed');
  await store.check();
});

test('a file whose content stays, touched, written again or checkpointed by others, is whole', async () => {
  const store = open();
  await set(store, 0);
  takeLogOver();
  await set(store, 1);
  age();
  assert.equal((await set(store, 2)).outcome, 'committed');
  overwrite(readFileSync(file));
  assert.equal((await set(store, 3)).outcome, 'committed');
  const other = new DatabaseSync(file);
  other.exec('VACUUM; PRAGMA wal_checkpoint; VACUUM');
  assert.equal((await set(store, 4)).outcome, 'committed');
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  other.close();
  assert.equal((await set(store, 5)).outcome, 'committed');
  await store.check();
  assert.equal(await foundAfterKill(), 6);
});
