// In a process of its own: it prepares a folder for all of its tests.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { change } from './contract/samples.ts';
import { tamper } from './tamper.ts';

// SQLite goes on writing into files that are not at their path any more. Nothing may be acknowledged there.

let folder: string;
let file: string;
let backup: string;
let opened: StateStore[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rdcp-vanishing-'));
  file = join(folder, 'state.db');
  backup = join(folder, 'backup.db');
  opened = [];
});
afterEach(async () => {
  await closeAll();
  rmSync(folder, { recursive: true });
});

function open(path = file): StateStore {
  const store = createSqliteStore(path);
  opened.push(store);
  return store;
}

async function closeAll(): Promise<void> {
  for (const store of opened) await store.close();
}

const set = (store: StateStore, expectedRevision: number) =>
  store.commit(change('acme', expectedRevision, { A: { permanent: true } }));

const revisionIn = async (store: StateStore) => (await store.load()).get('acme')?.revision;

async function assertRefused(store: StateStore, problem: RegExp): Promise<void> {
  for (const work of [() => set(store, 3), () => store.check(), () => store.load(), () => store.newestAudit()]) {
    await assert.rejects(work(), problem);
    await assert.rejects(work(), /; restart the process to go on with what is there now$/);
  }
}

interface Change {
  readonly does: () => void;
  readonly problem: RegExp;
  /** Done after the store has refused, before the restart. */
  readonly after?: () => void;
  /** The revision that a restarted process finds. */
  readonly left: number | undefined;
}

const elsewhere = () => join(folder, 'elsewhere');
const CHANGES: Readonly<Record<string, Change>> = {
  'its log was removed': { does: () => rmSync(`${file}-wal`), problem: /has lost its log/, left: 3 },
  'its shared memory was removed': { does: () => rmSync(`${file}-shm`), problem: /has lost its log/, left: 3 },
  'it was moved away, and came back': {
    does: () => renameSync(file, elsewhere()),
    problem: /was removed or replaced/,
    after: () => renameSync(elsewhere(), file),
    left: 3,
  },
  'it was removed': { does: () => rmSync(file), problem: /was removed or replaced/, left: undefined },
  'it was replaced by an older one': {
    does: () => renameSync(backup, file),
    problem: /was removed or replaced/,
    left: 1,
  },
};

for (const [what, { does, problem, after, left }] of Object.entries(CHANGES)) {
  test(`a file takes nothing until the restart after ${what}, and is whole then`, async () => {
    const stores = [open(), open()];
    const [store] = stores as [StateStore];
    await set(store, 0);
    tamper(file, `VACUUM INTO '${backup}'`);
    for (const revision of [1, 2]) await set(store, revision);
    does();
    for (const each of stores) await assertRefused(each, problem);
    after?.();
    for (const each of stores) await assertRefused(each, problem);
    await closeAll();

    const restarted = open();
    assert.equal(await revisionIn(restarted), left);
    assert.equal((await set(restarted, left ?? 0)).outcome, 'committed');
    tamper(file, 'PRAGMA wal_checkpoint');
    assert.equal(await revisionIn(restarted), (left ?? 0) + 1);
    const database = new DatabaseSync(file);
    assert.deepEqual({ ...database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' });
    database.close();
  });
}

test('a process that ends before it saw that its file was replaced leaves the new file as it is', async () => {
  const store = open();
  await set(store, 0);
  tamper(file, `VACUUM INTO '${backup}'`);
  for (const revision of [1, 2]) await set(store, revision);
  renameSync(backup, file);
  await closeAll();
  assert.equal(await revisionIn(open()), 1);
});

test('a file whose content stays, touched, written again or checkpointed by another program, is whole', async () => {
  const store = open();
  await set(store, 0);
  tamper(file, 'PRAGMA wal_checkpoint(TRUNCATE)');
  await set(store, 1);
  const past = Date.now() / 1000 - 5;
  utimesSync(file, past, past);
  assert.equal((await set(store, 2)).outcome, 'committed');
  writeFileSync(file, readFileSync(file), { flag: 'r+' });
  assert.equal((await set(store, 3)).outcome, 'committed');
  const other = new DatabaseSync(file);
  other.exec('DELETE FROM audit; VACUUM; PRAGMA wal_checkpoint; VACUUM');
  assert.equal((await set(store, 4)).outcome, 'committed');
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  other.close();
  assert.equal((await set(store, 5)).outcome, 'committed');
  await store.check();
});
