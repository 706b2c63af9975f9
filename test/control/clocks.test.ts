import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GLOBAL_SCOPE } from '../../src/store/state-store.ts';
import { systemClock, unrefTimeout } from '../../src/wire/time/clock.ts';
import fc from '../support/fast-check.ts';
import { until } from '../support/until.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { breakableStore } from './breakable-store.ts';
import { enable, GLOBAL, HOUR, startPlane, startShared, YEAR } from './running-plane.ts';

const MINUTE = 60_000;

test('a restart into a clock that is a little behind extends nothing beyond what was left when it was last seen', async () => {
  const { store } = breakableStore();
  const time = virtualTime();
  const first = await startPlane({ store, time });
  await first.control(enable(10 * 60));
  await time.pass(9 * MINUTE);
  await first.control({ action: 'status' });
  await first.plane.close();
  time.setWall(time.clock.now() - 4 * MINUTE);
  const second = await startPlane({ store, time });
  assert.equal(second.database.enabled, true);
  await time.pass(MINUTE);
  assert.equal(second.database.enabled, false);
});

test('a control that is set under the fake timers of a test runner ends in time, once they are removed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 0 });
  const { control, database } = await startPlane({ options: { clock: systemClock, delay: unrefTimeout } });
  await control(enable(1));
  assert.equal(database.enabled, true);
  t.mock.timers.reset();
  await until('its end', () => !database.enabled);
});

test('after a timer was lost, a later control sets the next one', async () => {
  const time = virtualTime();
  let lost = false;
  const delay: typeof time.delay = (milliseconds, task) => {
    if (lost) return time.delay(milliseconds, task);
    lost = true;
    return () => undefined;
  };
  const { control, database, gate } = await startPlane({ time, options: { delay } });
  const other = gate.category('OTHER');
  await control(enable(1));
  await control({ action: 'enable', categories: ['OTHER'], options: { duration: 60 } });
  await time.pass(10_000);
  assert.deepEqual([database.enabled, other.enabled], [true, true]);
  await control({ action: 'disable', categories: ['CACHE'], options: { duration: 5 } });
  await time.pass(60_000);
  assert.deepEqual([database.enabled, other.enabled], [false, false]);
});

test('a timer that fires a little early, and time that passes while it is handled, make no end late', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      async (early, read) => {
        const time = virtualTime();
        const monotonic = () => {
          time.suspend(read);
          return time.clock.monotonic();
        };
        const { control, database, stateOf } = await startPlane({
          time,
          options: { clock: { ...time.clock, monotonic }, delay: (ms, task) => time.delay(ms - early, task) },
        });
        await control(enable(2));
        const end = stateOf().expiresAt ?? 0;
        await time.pass(end - time.clock.now() + 50);
        assert.equal(database.enabled, false);
      },
    ),
  );
});

test('after the clock was set back, the shown end and later writes follow it', async () => {
  const { store, settings } = breakableStore();
  const { control, time, stateOf } = await startPlane({ store });
  await control(enable(600));
  time.setWall(time.clock.now() - HOUR);
  const left = () => (stateOf().expiresAt ?? 0) - time.clock.now();
  assert.equal(left(), 600_000);
  await time.pass(MINUTE);
  assert.equal(left(), 540_000);
  await control({ action: 'disable', categories: ['CACHE'] });
  const written = (await settings(GLOBAL_SCOPE)).get('DATABASE')?.temporary?.expiresAt ?? 0;
  assert.equal(written - time.clock.now(), 540_000);
});

test('word from a process with another clock does not extend what this one has known for long', async () => {
  const shared = breakableStore();
  const time = virtualTime();
  const here = await startPlane({ store: shared.store, time });
  await here.control(enable(600));
  time.setWall(time.clock.now() - HOUR);
  here.plane.view(GLOBAL);
  const state = (await shared.store.load()).get(GLOBAL_SCOPE);
  assert.ok(state);
  const settingsThen = new Map(state.settings).set('CACHE', { permanent: false });
  await shared.announce(GLOBAL_SCOPE, { ...state, revision: 2, settings: settingsThen });
  assert.equal(here.gate.category('CACHE').enabled, false);
  await time.pass(600_000);
  assert.equal(here.database.enabled, false);
});

for (const [what, ahead, lasts, ends] of [
  ['what another process set lasts no longer here because our clock is behind', 2 * HOUR, MINUTE, MINUTE],
  ['a stored end beyond the longest duration allowed is not believed', 0, YEAR, 24 * HOUR],
] as const) {
  test(what, async () => {
    const { shared, database, time } = await startShared();
    const changedAt = time.clock.now() + ahead;
    const temporary = { enabled: true, expiresAt: changedAt + lasts };
    const settings = new Map([['DATABASE', { temporary }]]);
    await shared.announce(GLOBAL_SCOPE, { revision: 1, settings, changedAt });
    assert.equal(database.enabled, true);
    time.suspend(ends - 1000);
    await time.pass(1000);
    assert.equal(database.enabled, false);
  });
}

test('what has ended stays ended when the clock that ended it is put right', async () => {
  const { shared, control, database, time, stateOf } = await startShared();
  await control(enable(600));
  shared.mode.down = true;
  time.setWall(time.clock.now() + HOUR);
  await time.pass(1000);
  assert.equal(database.enabled, false);
  time.setWall(time.clock.now() - HOUR);
  await time.pass(1000);
  assert.equal(stateOf().enabled, false);
  assert.equal(database.enabled, false);
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
  fc.record({ kind: fc.constant('suspend' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
  fc.record({ kind: fc.constant('set' as const), ms: fc.integer({ min: -2 * HOUR, max: 2 * HOUR }) }),
  fc.record({ kind: fc.constant('enable' as const), seconds: fc.integer({ min: 1, max: 60 }) }),
  fc.record({ kind: fc.constant('other' as const) }),
  fc.record({ kind: fc.constant('outage' as const), down: fc.boolean() }),
);

test('whatever the clock, the store and the process do, no temporary control outlives its time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const { shared, control, database, time, stateOf, plane } = await startShared();
      let end = 0;
      for (const next of steps) {
        if (next.kind === 'pass') await time.pass(next.ms);
        if (next.kind === 'suspend') time.suspend(next.ms);
        if (next.kind === 'set') time.setWall(time.clock.now() + next.ms);
        if (next.kind === 'outage') shared.mode.down = next.down;
        if (next.kind === 'other') await control({ action: 'toggle', categories: ['CACHE'] }).catch(() => undefined);
        if (next.kind === 'enable') {
          await control(enable(next.seconds));
          end = Math.max(end, time.clock.monotonic() + next.seconds * 1000);
        }
        if (time.clock.monotonic() >= end) {
          assert.equal(stateOf().enabled, false);
          assert.equal(database.enabled, false);
          assert.equal(plane.temporaryControls(), 0);
        }
      }
      shared.mode.down = false;
      await time.pass(Math.max(0, end - time.clock.monotonic()) + 3000);
      assert.deepEqual(
        [...(await shared.settings(GLOBAL_SCOPE))].filter(([, setting]) => setting.temporary),
        [],
      );
    }),
    { numRuns: 150 },
  );
});
