import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { GLOBAL_SCOPE, type StateStore } from '../../src/store/state-store.ts';
import type { ControlRequest } from '../../src/wire/control-request.ts';
import type { Delay } from '../../src/wire/time/clock.ts';
import { verify } from '../audit/entries.ts';
import { newFolder } from '../support/folder.ts';
import { ACME, code, enable, startPlane } from './running-plane.ts';

const TOGGLE: ControlRequest = { action: 'toggle', categories: ['DATABASE'] };
const UNKNOWN: ControlRequest = { action: 'enable', categories: ['NOPE'] };

/** A plane on a SQLite file. Retries after a conflict follow at once. */
async function planeOnFile(t: TestContext, file = join(newFolder(t), 'state.db'), wrap = (store: StateStore) => store) {
  const inner = createSqliteStore(file);
  t.after(() => inner.close());
  const delay: Delay = (_milliseconds, task) => {
    setImmediate(task);
    return () => undefined;
  };
  return { ...(await startPlane({ store: wrap(inner), options: { delay } })), file };
}

const times = (count: number, request: ControlRequest) => Array.from({ length: count }, () => request);

test('the next command does not wait for the disk, an answer does, and a disk that fails leaves the outcome unknown', async (t) => {
  const disk = Promise.withResolvers<void>();
  const { control, store } = await planeOnFile(t, undefined, (inner) => ({ ...inner, sync: () => disk.promise }));
  const answers = ['r-1', 'r-2'].map((key) =>
    control(TOGGLE, { replay: { key, fingerprint: '' } }).catch((error) => error.details),
  );
  const answered = Promise.race(answers).then(() => true);
  const isBoth = async () => (await store.load()).get(GLOBAL_SCOPE)?.revision === 2;
  while (!(await isBoth())) await new Promise(setImmediate);
  assert.equal(await Promise.race([answered, new Promise((resolve) => setImmediate(resolve, false))]), false);
  disk.reject(new Error('EIO: i/o error, fdatasync'));
  assert.deepEqual(await Promise.all(answers), [{ outcome: 'unknown' }, { outcome: 'unknown' }]);
});

test('a command of a tenant sees the global change just before it', async (t) => {
  const { control } = await planeOnFile(t);
  const [, inAcme, back] = await Promise.all([
    control(enable()),
    control(TOGGLE, { scope: ACME }),
    control({ action: 'reset', categories: ['DATABASE'] }, { scope: ACME }),
  ]);
  assert.deepEqual(
    [inAcme, back].map(({ response: { changes } }) => [changes[0]?.previousState, changes[0]?.newState]),
    [
      [true, false],
      [false, true],
    ],
  );
});

test('a command that cannot be carried out is refused alone, and is in the trail', async (t) => {
  const { control, database, trail } = await planeOnFile(t);
  const outcomes = await Promise.all([control(enable()), code(control(UNKNOWN)), control(TOGGLE), control(TOGGLE)]);
  assert.equal(outcomes[1], 'RDCP_CATEGORY_NOT_FOUND');
  assert.equal(database.enabled, true);
  const entries = (await trail()).toReversed();
  assert.deepEqual(
    entries.map(({ outcome, error }) => [outcome, error]),
    [
      ['success', undefined],
      ['failed', 'RDCP_CATEGORY_NOT_FOUND'],
      ['success', undefined],
      ['success', undefined],
    ],
  );
  assert.equal(verify(entries), undefined);
});

test('commands that another process overtook are computed again, and no change is lost or doubled', async (t) => {
  const file = join(newFolder(t), 'state.db');
  const planes = await Promise.all([planeOnFile(t, file), planeOnFile(t, file), planeOnFile(t, file)]);
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(planes.flatMap(({ control }) => times(7, TOGGLE).map((request) => control(request))));
  }
  const [one] = planes;
  assert.equal((await one.store.load()).get(GLOBAL_SCOPE)?.revision, 210);
  const entries = (await one.trail()).toReversed();
  assert.deepEqual(
    entries.map(({ changes }) => changes[0]?.newState),
    entries.map((_, index) => index % 2 === 0),
  );
  assert.equal(verify(entries), undefined);
});

test('a request id that another process used meanwhile gets its answer, and other commands go on', async (t) => {
  const file = join(newFolder(t), 'state.db');
  const [one, two] = [await planeOnFile(t, file), await planeOnFile(t, file)];
  const replay = { key: 'ops r-1', fingerprint: 'f' };
  const [first, again, , reused] = await Promise.all([
    one.control(enable(), { replay }),
    two.control(enable(), { replay }),
    two.control(TOGGLE),
    code(two.control(enable(), { replay: { key: 'ops r-2', fingerprint: 'f' } })),
  ]);
  assert.deepEqual(again.response, first.response);
  assert.deepEqual([first, again].map(({ replayed }) => replayed).sort(), [false, true]);
  assert.equal(reused, 'none');
  assert.equal((await one.trail()).length, 3);
});

test('when writes fail no command is in force or in the chain, and each is refused', async (t) => {
  let broken = true;
  const { control, database, trail, records } = await planeOnFile(t, undefined, (store) => ({
    ...store,
    commit: async (commit) => {
      if (broken) throw new Error('database or disk is full');
      return store.commit(commit);
    },
  }));
  const codes = await Promise.all(times(3, TOGGLE).map((request) => code(control(request))));
  assert.deepEqual(codes, Array(3).fill('RDCP_UNAVAILABLE'));
  assert.equal(database.enabled, false);
  assert.equal(records.length, 0);
  broken = false;
  await Promise.all(times(3, TOGGLE).map((request) => control(request)));
  assert.equal(database.enabled, true);
  const entries = (await trail()).toReversed();
  assert.equal(entries.length, 3);
  assert.equal(verify(entries), undefined);
});

test('the audit record of a command is emitted in the context of its request', async (t) => {
  const requests = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const { control, records } = await planeOnFile(t);
  records.push = (...items) => {
    seen.push(...items.map(() => requests.getStore()));
    return 0;
  };
  await Promise.all([
    requests.run('first', () => control(enable())),
    requests.run('second', () => control(TOGGLE)),
    requests.run('third', () => code(control(UNKNOWN))),
  ]);
  assert.deepEqual(seen, ['first', 'second', 'third']);
});
