import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { systemClock, unrefInterval, unrefTimeout } from '../../src/wire/time/clock.ts';
import { verify } from '../audit/entries.ts';
import { until } from '../support/until.ts';
import type { virtualTime } from '../support/virtual-time.ts';
import { enable, startPlane } from './running-plane.ts';

/** Time as it is. */
const REAL = { clock: systemClock, schedule: unrefInterval, delay: unrefTimeout } as ReturnType<typeof virtualTime>;

test('planes that share a SQLite file follow each other, lose no toggle, and record an expiry once', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-planes-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const stores = Array.from({ length: 4 }, () => createSqliteStore(join(directory, 'state.db')));
  const planes = await Promise.all(stores.map((store) => startPlane({ store, time: REAL })));
  t.after(async () => {
    for (const { plane } of planes) await plane.close();
    for (const store of stores) await store.close();
  });
  const [first] = planes;
  assert.ok(first);

  await Promise.all(
    planes.flatMap(({ control }) =>
      Array.from({ length: 5 }, () => control({ action: 'toggle', categories: ['CACHE'] })),
    ),
  );
  const { response } = await first.control(enable(1));
  assert.equal(response.status, 'success');
  const everywhere = (on: boolean) => planes.every(({ database }) => database.enabled === on);
  for (const on of [true, false]) {
    await until(`every gate ${on ? 'on' : 'off'}`, () => everywhere(on), 5000);
  }
  const isRecorded = async () => (await first.trail()).some(({ action }) => action === 'expire');
  await until('the expiry is recorded', isRecorded, 5000);
  await Promise.all(planes.map(({ plane }) => plane.close()));
  const entries = (await first.trail()).toReversed();
  assert.equal(verify(entries), undefined);
  assert.equal(entries.filter(({ action }) => action === 'expire').length, 1);
  const toggles = entries.filter(({ action }) => action === 'toggle');
  assert.deepEqual(
    toggles.map(({ changes }) => changes[0]?.newState),
    toggles.map((_, index) => index % 2 === 1),
  );
  assert.equal(toggles.length, 20);
});
