import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { type Commit, GLOBAL_SCOPE } from '../../src/store/state-store.ts';
import type { ControlRequest } from '../../src/wire/control-request.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { breakableStore } from './breakable-store.ts';
import { ACME, enable, type Setup, startPlane } from './running-plane.ts';

async function announcing(setup: Setup = {}) {
  const lines: string[] = [];
  const plane = await startPlane({
    ...setup,
    options: { reporter: { info: (line) => void lines.push(line) }, ...setup.options },
  });
  /** What was said since this was asked last. */
  const said = () => lines.splice(0);
  return { ...plane, said };
}

const request = (action: ControlRequest['action'], categories: string[], options: ControlRequest['options'] = {}) => ({
  action,
  categories,
  options,
});
const alice = { identity: { method: 'api-key' as const, userId: 'alice' } };

test('a change is one line: what, for how long, by whom and why; and its end is one', async () => {
  const { control, said, time } = await announcing();
  await control(request('enable', ['DATABASE'], { duration: 300, reason: 'slow checkout' }), alice);
  assert.deepEqual(said(), ['DATABASE on for 5m by alice: slow checkout']);
  await time.pass(299_000);
  assert.deepEqual(said(), []);
  await time.pass(10_000);
  assert.deepEqual(said(), ['DATABASE off again, the time is over']);
});

test('what each action makes of a category is said in words', async () => {
  const { control, said } = await announcing();
  for (const [action, options, line] of [
    ['enable', {}, 'DATABASE on by alice'],
    ['enable', { duration: 60 }, 'DATABASE on for 1m by alice'],
    ['enable', { otelrdcp_level: 'info' }, 'DATABASE on from info up by alice'],
    ['enable', { otelrdcp_level: 'warn', duration: 60 }, 'DATABASE quiet below warn for 1m by alice'],
    ['disable', { duration: 90, reason: 'noise' }, 'DATABASE off for 90s by alice: noise'],
    ['disable', {}, 'DATABASE off by alice'],
    ['toggle', {}, 'DATABASE on by alice'],
    ['reset', {}, 'DATABASE back to default by alice'],
  ] as const) {
    await control(request(action, ['DATABASE'], options), alice);
    assert.deepEqual(said(), [line]);
  }
});

test('an activation says what it does: on for some work, or recording failures, and by which alert', async () => {
  const { control, said, time } = await announcing();
  const by = { identity: { method: 'api-key' as const, userId: 'alert:orders' } };
  const failures = { otelrdcp_when: { failed: true as const } };
  const ofOne = { otelrdcp_target: { match: { 'user.id': '42' } } };
  for (const [action, options, who, line] of [
    ['enable', { ...failures, duration: 300 }, by, 'recording failures of DATABASE for 5m (alert orders)'],
    ['reset', {}, alice, 'recording failures of DATABASE ended by alice'],
    [
      'enable',
      { ...failures, ...ofOne, duration: 60, reason: 'slow' },
      alice,
      'recording failures of DATABASE for work with user.id for 1m by alice: slow',
    ],
    ['enable', { ...ofOne, duration: 300 }, by, 'DATABASE on for work with user.id for 5m (alert orders)'],
  ] as const) {
    await control(request(action, ['DATABASE'], options), who);
    assert.deepEqual(said(), [line]);
  }
  await time.pass(70_000);
  assert.deepEqual(said(), ['recording failures of DATABASE for work with user.id ended, the time is over']);
});

test('what changes nothing is not said: a repeated state, a question, a refusal', async () => {
  const { control, said } = await announcing();
  await control(request('enable', ['DATABASE']), alice);
  said();
  await control(request('enable', ['DATABASE']), alice);
  await control(request('status', ['DATABASE']), alice);
  await assert.rejects(control(request('enable', ['DATABASE', 'NOBODY']), alice));
  assert.deepEqual(said(), []);
});

test('many categories are one line, also where they become different things', async () => {
  const { gate, control, said, time } = await announcing();
  const names = Array.from({ length: 14 }, (_, index) => `MANY_${String(index).padStart(2, '0')}`);
  for (const name of names) gate.category(name);
  await control(request('enable', names, { duration: 60 }), alice);
  assert.deepEqual(said(), ['MANY_00, MANY_01, MANY_02, MANY_03, MANY_04 and 9 more on for 1m by alice']);
  await time.pass(61_000);
  assert.deepEqual(said(), ['MANY_00, MANY_01, MANY_02, MANY_03, MANY_04 and 9 more off again, the time is over']);
  await control(request('toggle', ['CACHE', 'DATABASE']), alice);
  assert.deepEqual(said(), ['CACHE off; DATABASE on by alice']);
});

test("a tenant's change names the tenant, and a temporary one that ends shows what was set before", async () => {
  const { control, said, time } = await announcing();
  await control(request('enable', ['DATABASE']), { ...alice, scope: ACME });
  assert.deepEqual(said(), ['DATABASE on for tenant acme by alice']);
  await control(request('disable', ['DATABASE'], { duration: 60 }), { ...alice, scope: ACME });
  assert.deepEqual(said(), ['DATABASE off for 1m for tenant acme by alice']);
  await time.pass(61_000);
  assert.deepEqual(said(), ['DATABASE on again for tenant acme, the time is over']);
});

test('a message that arrives before the answer to its change does not hide who made it', async () => {
  const { store, announce } = breakableStore();
  const hasty = {
    ...store,
    async commit(commit: Commit) {
      const result = await store.commit(commit);
      await announce(GLOBAL_SCOPE);
      return result;
    },
  };
  const here = await announcing({ store: hasty });
  const there = await announcing({ store: hasty });
  await here.control(request('enable', ['DATABASE']), alice);
  assert.deepEqual(here.said(), ['DATABASE on by alice']);
  assert.deepEqual(there.said(), ['DATABASE on']);
});

test('a process that hears of a temporary control after its end says neither the beginning nor the end', async () => {
  const time = virtualTime();
  const { store, announce } = breakableStore();
  const here = await announcing({ store, time });
  const there = await announcing({ store, time });
  await here.control(request('enable', ['DATABASE'], { duration: 2 }), alice);
  const late = (await store.load()).get(GLOBAL_SCOPE);
  await time.pass(3000);
  await announce(GLOBAL_SCOPE, late);
  await time.pass(1000);
  await announce(GLOBAL_SCOPE);
  await here.control(request('enable', ['CACHE'], { duration: 60 }), alice);
  await announce(GLOBAL_SCOPE);
  assert.deepEqual(here.said(), [
    'DATABASE on for 2s by alice',
    'DATABASE off again, the time is over',
    'CACHE on for 1m by alice',
  ]);
  assert.deepEqual(there.said(), ['CACHE on for 1m']);
});

test('what was set, or has ended, before a process started is not said by it', async () => {
  const time = virtualTime();
  const store = createMemoryStore();
  const before = await announcing({ store, time });
  await before.control(request('enable', ['CACHE']));
  await before.control(request('enable', ['DATABASE'], { duration: 60 }));
  await before.plane.close();
  time.suspend(120_000);
  const { said } = await announcing({ store, time });
  await time.pass(5000);
  assert.deepEqual(said(), []);
});

test('while the store is away a change says that it holds in this process alone, and is not said again when it is shared', async () => {
  const time = virtualTime();
  const { store, mode } = breakableStore();
  const here = await announcing({ store, time });
  const there = await announcing({ store: createMemoryStore(), time });
  mode.down = true;
  await here.control(enable(600), alice);
  assert.deepEqual(here.said(), ['DATABASE on for 10m by alice, in this process alone until the store is available']);
  mode.down = false;
  await time.pass(5000);
  assert.deepEqual(here.said(), []);
  await time.pass(600_000);
  assert.deepEqual(here.said(), ['DATABASE off again, the time is over']);
  assert.deepEqual(there.said(), []);
});

test('a storm of changes is ten lines a second and one that counts the others', async () => {
  const { control, said, time } = await announcing();
  for (let count = 0; count < 50; count++) await control(request('toggle', ['DATABASE']), alice);
  assert.equal(said().length, 10);
  await time.pass(1000);
  assert.deepEqual(said(), ['40 more changes, see the audit trail']);
  await time.pass(2000);
  await control(request('toggle', ['DATABASE']), alice);
  assert.equal(said().length, 1);
});
