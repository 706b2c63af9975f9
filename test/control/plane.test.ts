import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { inWords } from '../audit/entries.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { ACME, code, enable, GLOBAL, HOUR, startPlane } from './running-plane.ts';

test('a change is in the store and the trail before the gate follows', async () => {
  const store = createMemoryStore();
  const seen: boolean[] = [];
  const { control, database, trail, records } = await startPlane({
    store: {
      ...store,
      commit: async (commit) => {
        seen.push(database.enabled);
        return store.commit(commit);
      },
    },
  });
  const { response } = await control({ ...enable(), options: { reason: 'slow' } });
  assert.equal(response.status, 'success');
  assert.deepEqual(seen, [false]);
  assert.equal(database.enabled, true);
  const [entry] = await trail();
  assert.equal(entry?.reason, 'slow');
  assert.equal(entry?.identity.userId, 'ops');
  assert.equal(records.at(-1)?.attributes['rdcp.audit.id'], entry?.id);
});

test('a trail that cannot be written stops the change', async () => {
  const store = createMemoryStore();
  const { control, database } = await startPlane({
    options: { audit: { append: async () => Promise.reject(new Error('no')), defer: () => false } },
    store,
  });
  assert.equal(await code(control(enable())), 'RDCP_AUDIT_WRITE_FAILED');
  assert.equal(database.enabled, false);
});

test('a temporary control ends on time, once, with an entry, and the layer below shows again', async () => {
  const { control, database, time, trail } = await startPlane();
  await control(enable(60));
  await time.pass(59_999);
  assert.equal(database.enabled, true);
  await time.pass(1);
  assert.equal(database.enabled, false);
  await time.pass(HOUR);
  const entries = await trail();
  assert.deepEqual(inWords(entries), ['expire', 'enable']);
  assert.deepEqual(entries[0]?.changes[0], {
    category: 'DATABASE',
    previousState: true,
    newState: false,
    temporary: false,
    effectiveAt: entries[0]?.timestamp,
  });
  assert.equal(time.pending, 2, 'only the timers of the trail are left');
});

test('a temporary control ends in the gate while the store is down, and in the trail when it is back', async () => {
  const store = createMemoryStore();
  let down = false;
  const { control, database, time, trail, reports } = await startPlane({
    store: { ...store, commit: async (commit) => (down ? Promise.reject(new Error('down')) : store.commit(commit)) },
  });
  await control(enable(60));
  down = true;
  await time.pass(65_000);
  assert.equal(database.enabled, false);
  assert.ok(reports.length > 0);
  down = false;
  await time.pass(1000);
  assert.deepEqual(inWords(await trail()), ['expire', 'enable']);
});

test('the trail says of a status that it was asked for, and not what it answered', async () => {
  const { control, trail } = await startPlane();
  const { response } = await control({ action: 'status' });
  assert.equal(response.changes.length, 2);
  await control({ action: 'status', categories: ['CACHE'] });
  const told = (await trail()).map(({ action, categories, changes }) => ({ action, categories, changes }));
  assert.deepEqual(told, [
    { action: 'status', categories: ['CACHE'], changes: [] },
    { action: 'status', categories: [], changes: [] },
  ]);
});

test('the trail names twenty at most of the categories that a refused command named', async () => {
  const { control, trail } = await startPlane();
  const names = Array.from({ length: 5000 }, (_, index) => `NONE_${index}`);
  await assert.rejects(control({ action: 'enable', categories: ['CACHE', ...names] }));
  const [entry] = await trail();
  assert.deepEqual(entry?.categories, names.slice(0, 20));
});

test('a request id is free again after five minutes', async () => {
  const { control, database, time } = await startPlane();
  const replay = { key: 'k', fingerprint: 'f' };
  await control({ action: 'toggle', categories: ['DATABASE'] }, { replay });
  await time.pass(5 * 60_000);
  await control({ action: 'toggle', categories: ['DATABASE'] }, { replay });
  assert.equal(database.enabled, false);
});

test('a repeat gets the first answer, also when the command could not be carried out any more', async () => {
  const limits = { defaultDuration: 900, maxDuration: 86_400, maxTemporary: 1, maxCategories: 4096 };
  const { control, stateOf, trail } = await startPlane({ options: { limits } });
  const replay = { key: 'ops r-1', fingerprint: 'f' };
  const first = await control(enable(60), { replay });
  await control({ action: 'reset', categories: ['DATABASE'] });
  await control({ action: 'disable', categories: ['CACHE'], options: { duration: 60 } });
  assert.equal(await code(control(enable(60))), 'RDCP_TEMPORARY_LIMIT');

  const again = await control(enable(60), { replay });
  assert.deepEqual(again, { response: first.response, replayed: true });
  assert.equal(stateOf().enabled, false);
  assert.equal(await code(control(enable(60), { replay: { ...replay, fingerprint: 'g' } })), 'RDCP_REQUEST_ID_REUSED');
  assert.equal((await trail()).length, 4);
});

test('a repeat of a request that is still running is refused as in progress', async () => {
  const { control } = await startPlane();
  const replay = { key: 'k', fingerprint: 'f' };
  const [first, second, third] = await Promise.all([
    code(control(enable(), { replay })),
    code(control(enable(), { replay })),
    code(control(enable(), { replay: { key: 'k', fingerprint: 'g' } })),
  ]);
  assert.deepEqual([first, second, third], ['none', 'RDCP_REQUEST_IN_PROGRESS', 'RDCP_REQUEST_ID_REUSED']);
});

test('a category that appears later gets what was stored for it', async () => {
  const store = createMemoryStore();
  const time = virtualTime();
  const first = await startPlane({ store, time });
  first.gate.category('LATE');
  await first.control({ action: 'enable', categories: ['LATE'] });
  await first.control({ action: 'enable', categories: ['LATE'] }, { scope: ACME });
  await first.control({ action: 'disable', categories: ['LATE'] });
  const second = await startPlane({ store, time });
  const late = second.gate.category('LATE', { enabled: true });
  assert.equal(late.enabled, false);
  assert.equal(
    second.gate.runWithTenant('acme', () => late.enabled),
    true,
  );
});

test('the configuration has the last word on defaults and descriptions, and may name categories itself', async () => {
  const overrides = { CACHE: { enabled: false, description: 'mine' }, EXTRA: { enabled: true } };
  const { gate, plane } = await startPlane({ options: { overrides } });
  assert.deepEqual(
    ['CACHE', 'DATABASE', 'EXTRA'].map((name) => gate.category(name).enabled),
    [false, false, true],
  );
  assert.deepEqual(
    plane.view(GLOBAL).map(({ name, description, defaultEnabled }) => [name, description, defaultEnabled]),
    [
      ['CACHE', 'mine', false],
      ['DATABASE', '', false],
      ['EXTRA', '', true],
    ],
  );
});

test('switched off as a whole, every category reads off and keeps what was set', async () => {
  const { control, plane, gate } = await startPlane();
  await control(enable());
  plane.setEnabled(false);
  assert.deepEqual(
    [plane.enabled, gate.category('DATABASE').enabled, gate.category('CACHE').enabled],
    [false, false, false],
  );
  assert.ok(plane.view(GLOBAL).every(({ enabled }) => !enabled));
  plane.setEnabled(true);
  assert.deepEqual([gate.category('DATABASE').enabled, gate.category('CACHE').enabled], [true, true]);
});

test('closing answers what was accepted, refuses what comes after, and lets go of the gate', async () => {
  const { control, plane, database, time } = await startPlane();
  const timers = time.pending;
  await control(enable(60));
  const accepted = control(enable(60));
  const closed = plane.close();
  assert.equal(await code(control(enable())), 'RDCP_UNAVAILABLE');
  assert.equal((await accepted).response.status, 'success');
  await closed;
  assert.equal(database.enabled, false);
  assert.equal(time.pending, timers, 'no timer of a control is left');
});

test('a command that comes while the store is being read waits for it', async () => {
  const { plane, control, database } = await startPlane({ start: false });
  const [, { response }] = await Promise.all([plane.start(), control(enable())]);
  assert.equal(response.status, 'success');
  assert.equal(database.enabled, true);
});

test('a description, or a default, that is given later is shown', async () => {
  const { gate, stateOf } = await startPlane();
  assert.deepEqual([stateOf().description, stateOf().defaultEnabled], ['', false]);
  gate.category('DATABASE', { description: 'queries', enabled: true });
  assert.deepEqual([stateOf().description, stateOf().defaultEnabled, stateOf().enabled], ['queries', true, true]);
});

test('what a view was is not what it becomes: who keeps one is not surprised', async () => {
  const { plane, control } = await startPlane();
  const before = plane.view(GLOBAL);
  assert.equal(plane.view(GLOBAL), before, 'nothing changed');
  await control(enable());
  assert.deepEqual(
    [before, plane.view(GLOBAL)].map((view) => view.find(({ name }) => name === 'DATABASE')?.enabled),
    [false, true],
  );
});
