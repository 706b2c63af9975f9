// In a process of its own: it prepares a folder for all of its tests.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { GLOBAL_SCOPE } from '../../src/store/state-store.ts';
import { everyEntry } from './contract/samples.ts';
import { killedWriters, startChild } from './sqlite-children.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rdcp-sqlite-'));
  file = join(folder, 'state.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

killedWriters(2);

test('two processes that toggle at once lose no change and double none', async () => {
  const writers = [startChild('toggle', file, '60'), startChild('toggle', file, '60')];
  await Promise.all(writers.map(({ ended }) => ended));
  assert.deepEqual(
    writers.map(({ child }) => child.exitCode),
    [0, 0],
  );

  const acknowledged = writers.flatMap(({ lines }) => lines.map(Number)).sort((a, b) => a - b);
  assert.deepEqual(
    acknowledged,
    Array.from({ length: 120 }, (_, index) => index + 1),
  );
  const store = createSqliteStore(file);
  const state = (await store.load()).get(GLOBAL_SCOPE);
  assert.equal(state?.revision, 120);
  assert.equal(state?.settings.get('FLIP')?.permanent, false, 'an even number of toggles ends where it began');
  assert.deepEqual(
    (await everyEntry(store)).reverse().map(({ compliance }) => compliance.sequence),
    acknowledged,
  );
  await store.close();
});
