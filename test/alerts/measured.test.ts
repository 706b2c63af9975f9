import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type TestContext, test } from 'node:test';
import { HttpRequests } from '../../src/calls/work/http-requests.ts';
import { WorkOutcomes } from '../../src/calls/work/outcomes.ts';
import type { AlertRule } from '../../src/control/alerts/alert-controls.ts';
import { MeasuredAlerts } from '../../src/control/alerts/measured.ts';
import { createIsolation } from '../../src/control/tenancy/isolation.ts';
import { WorkContext } from '../../src/gate/work.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { unwritten } from '../../src/wire/errors.ts';
import { startPlane } from '../control/running-plane.ts';
import { withMembers } from '../support/server.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

const FAILURES: AlertRule = {
  name: 'failures',
  when: { errorRate: 0.5, over: 10, failed: true },
  enable: ['DATABASE'],
  for: 15 * 60,
  cooldown: 10 * 60,
};
const CRASHES: AlertRule = { ...FAILURES, name: 'crashes', when: { uncaught: true } };

/** A process that measures. Several with one time and store are a fleet. */
async function measuring(
  t: TestContext,
  rules: readonly AlertRule[],
  { time = virtualTime(), store = createMemoryStore() } = {},
) {
  const running = await startPlane({ time, store });
  const host = new EventEmitter();
  const context = new WorkContext();
  const works = new WorkOutcomes(context, new HttpRequests(context), time.clock, host as unknown as NodeJS.Process);
  const reports: unknown[] = [];
  const alerts = new MeasuredAlerts({
    rules,
    group: 'measured',
    plane: running.plane,
    trail: running.audit,
    fleet: undefined,
    isolation: createIsolation(false),
    works,
    host: host as unknown as NodeJS.Process,
    clock: time.clock,
    schedule: time.schedule,
    report: (error) => void reports.push(error),
  });
  t.after(() => alerts.close());
  /** Jobs, one a second, each of 20 pieces of work. */
  const work = async (seconds: number, fails: boolean) => {
    for (let second = 0; second < seconds; second++) {
      for (let piece = 0; piece < 20; piece++) {
        context.runNamed('job', () => {
          if (fails) context.fail(new Error('no'));
        });
      }
      await time.pass(SECOND);
    }
  };
  const actions = async () => (await running.trail()).map(({ action, reason }) => [action, reason]).reverse();
  return { ...running, alerts, work, host, actions, reports };
}

const isOn = ({ plane }: { plane: { temporaryControls(): number } }) => plane.temporaryControls() > 0;

test('the time counts from the first, however long the service fails, and a pause follows', async (t) => {
  const service = await measuring(t, [FAILURES]);
  await service.work(60 * 60, true);
  assert.equal(isOn(service), false);
  assert.equal((await service.actions()).filter(([action]) => action === 'enable').length, 1);
  await service.work(20, false);
  await service.work(20, true);
  assert.equal(isOn(service), true, 'the pause after its end is over, so it is switched on for the next time');
  await service.work(20, false);
  await service.work(60, true);
  assert.equal(isOn(service), false, 'in the pause');
  await service.work(10 * 60, true);
  assert.equal(isOn(service), true, 'still failing after the pause');
});

test('an uncaught error switches on for the time, and the next one after the pause', async (t) => {
  const service = await measuring(t, [CRASHES]);
  const crash = () => service.host.emit('uncaughtExceptionMonitor', new TypeError('no'), 'uncaughtException');
  crash();
  await service.time.pass(2 * SECOND);
  assert.equal(isOn(service), true);
  for (let minute = 0; minute < 14; minute++) {
    crash();
    await service.time.pass(MINUTE);
  }
  assert.equal(isOn(service), true);
  await service.time.pass(2 * MINUTE);
  assert.equal(isOn(service), false);
  await service.time.pass(10 * MINUTE);
  crash();
  await service.time.pass(2 * SECOND);
  assert.equal(isOn(service), true);
  assert.deepEqual(
    (await service.actions()).filter(([action]) => action !== 'expire'),
    [
      ['enable', 'uncaught TypeError'],
      ['enable', 'uncaught TypeError'],
    ],
  );
});

test('of a fleet that fails together one process switches, and the same one ends it', async (t) => {
  const shared = { time: virtualTime(), store: createMemoryStore() };
  const one = await measuring(t, [FAILURES], shared);
  const other = await measuring(t, [FAILURES], shared);
  await one.work(5, true);
  await other.work(3, true);
  const [entry, ...others] = await one.trail();
  assert.deepEqual(
    [entry?.action, entry?.identity.userId, entry?.otelrdcp_activation?.when, others],
    ['enable', 'alert:failures', { failed: true }, []],
  );
  await other.time.pass(20 * SECOND);
  await one.alerts.close();
  assert.deepEqual(await other.actions(), [
    ['enable', entry?.reason],
    ['reset', `resolved: ${entry?.reason}`],
  ]);
});

test('a process that recovers does not end what another one switched on', async (t) => {
  const shared = { time: virtualTime(), store: createMemoryStore() };
  const one = await measuring(t, [FAILURES], shared);
  const other = await measuring(t, [FAILURES], shared);
  await one.work(2, true);
  await other.work(2, true);
  for (let seconds = 0; seconds < 60; seconds++) await one.work(1, true);
  assert.equal(isOn(one), true);
  assert.deepEqual(
    (await one.actions()).map(([action]) => action),
    ['enable'],
  );
});

test('while the store is away it is tried again, once a minute', async (t) => {
  let away = true;
  let attempts = 0;
  const memory = createMemoryStore();
  const store = withMembers(memory, {
    commit: async (commit) => {
      attempts += 1;
      if (away) throw unwritten(new Error('the store is away'));
      return memory.commit(commit);
    },
  });
  const service = await measuring(t, [FAILURES], { store });
  await service.work(90, true);
  assert.equal(isOn(service), false);
  assert.ok(attempts <= 2 && service.reports.length >= 1, `${attempts} attempts`);
  away = false;
  await service.work(60, true);
  assert.equal(isOn(service), true);
});

test('without rules that measure nothing is followed, and no timer runs', async (t) => {
  const time = virtualTime();
  const running = await measuring(t, [{ ...FAILURES, match: { alertname: 'x' }, when: { failed: true } }], { time });
  await settled();
  assert.deepEqual(running.host.eventNames(), []);
  const { pending } = time;
  await running.alerts.close();
  assert.equal(time.pending, pending);
});
