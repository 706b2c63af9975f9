import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type TestContext, test } from 'node:test';
import { HttpRequests } from '../../src/calls/work/http-requests.ts';
import { WorkOutcomes } from '../../src/calls/work/outcomes.ts';
import type { AlertRule } from '../../src/control/alerts/alert-controls.ts';
import { openTrigger } from '../../src/control/alerts/triggers.ts';
import { Work, WorkContext } from '../../src/gate/work.ts';
import fc from '../support/fast-check.ts';
import { virtualTime } from '../support/virtual-time.ts';

function watching(t: TestContext, when: AlertRule['when']) {
  const time = virtualTime();
  const host = new EventEmitter();
  const context = new WorkContext();
  const parts = { host: host as unknown as NodeJS.Process, clock: time.clock };
  const works = new WorkOutcomes(context, new HttpRequests(context), parts.clock, parts.host);
  const rule: AlertRule = { name: 'measured', enable: ['DATABASE'], for: 60, cooldown: 60, when };
  const trigger = openTrigger(rule, { works, ...parts });
  if (trigger === undefined) throw new Error('the rule measures nothing');
  t.after(() => trigger.close());
  const request = (status: number | undefined, target: string) => {
    const work = new Work(undefined, { method: 'GET', target, address: '::1', header: () => undefined, route: target });
    works.began(work).answered(status);
  };
  const serve = (status: number | undefined, count: number, target = '/orders') => {
    for (let served = 0; served < count; served++) request(status, target);
  };
  return { trigger, time, host, context, serve };
}

test('the share of failed work counts once 20 pieces have ended in the time', async (t) => {
  const { trigger, serve, time } = watching(t, { errorRate: 0.05, over: 60 });
  serve(500, 1);
  assert.equal(trigger.exceeded(), undefined, '1 of 1 failed');
  serve(200, 18);
  assert.equal(trigger.exceeded(), undefined, '1 of 19 failed');
  serve(404, 1);
  assert.equal(trigger.exceeded(), '5 % of 20 pieces of work failed in 1m');
  serve(200, 1);
  assert.equal(trigger.exceeded(), undefined, '1 of 21 failed');
  serve(503, 9);
  assert.equal(trigger.exceeded(), '33 % of 30 pieces of work failed in 1m');
  await time.pass(60_000);
  assert.equal(trigger.exceeded(), undefined, 'it was over a minute ago');
});

test('clients that hang up fire a rule only where it says so, and hide no failures', (t) => {
  for (const [aborted, expected] of [
    [undefined, '50 % of 20 pieces of work failed in 1m'],
    [true, '98 % of 520 pieces of work failed in 1m'],
  ] as const) {
    const { trigger, serve } = watching(t, { errorRate: 0.5, aborted });
    serve(undefined, 500);
    assert.equal(trigger.exceeded() !== undefined, aborted === true);
    serve(500, 10);
    serve(200, 10);
    assert.equal(trigger.exceeded(), expected);
  }
});

test('what is older than the time does not count, to a tenth of it', async (t) => {
  const piece = fc.record({ wait: fc.integer({ min: 0, max: 3000 }), fails: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 120 }), async (pieces) => {
      const { trigger, serve, time } = watching(t, { errorRate: 0.5, over: 10 });
      const past: { readonly at: number; readonly fails: boolean }[] = [];
      for (const { wait, fails } of pieces) {
        time.suspend(wait);
        serve(fails ? 500 : 200, 1);
        past.push({ at: time.clock.monotonic(), fails });
        const now = time.clock.monotonic();
        const exceeds = (seconds: number) => {
          const within = past.filter(({ at }) => at > now - seconds * 1000);
          return within.length >= 20 && within.filter((each) => each.fails).length / within.length >= 0.5;
        };
        // Decided where the tenth that is cut off makes no difference.
        const slots = Array.from({ length: 11 }, (_, tenth) => exceeds(9 + tenth / 10));
        if (new Set(slots).size === 1) assert.equal(trigger.exceeded() !== undefined, slots[0]);
      }
      trigger.close();
    }),
    { numRuns: 30 },
  );
});

test('jobs count as requests do, and requests to the remote control do not', (t) => {
  const { trigger, serve, context } = watching(t, { errorRate: 0.5 });
  serve(503, 100, '/rdcp/v1/health');
  assert.equal(trigger.exceeded(), undefined);
  for (let job = 0; job < 20; job++) {
    assert.throws(() =>
      context.runNamed('job', () => {
        throw new Error('no');
      }),
    );
  }
  assert.equal(trigger.exceeded(), '100 % of 20 pieces of work failed in 1m');
});

test('an uncaught error counts for the time of the rule, by the name of its type alone', async (t) => {
  const { trigger, host, time } = watching(t, { uncaught: true });
  const error = Object.assign(new TypeError('password=hunter2'), { name: `Type\nError ${'x'.repeat(1000)}` });
  host.emit('uncaughtExceptionMonitor', error, 'uncaughtException');
  const subject = trigger.exceeded() ?? '';
  assert.match(subject, /^uncaught Type\\u000aError x{80,}$/);
  assert.ok(subject.length < 150);
  await time.pass(30_000);
  host.emit('uncaughtExceptionMonitor', 'thrown text', 'uncaughtException');
  await time.pass(34_999);
  assert.equal(trigger.exceeded(), subject);
  await time.pass(1);
  assert.equal(trigger.exceeded(), undefined);
  host.emit('uncaughtExceptionMonitor', 'thrown text', 'uncaughtException');
  assert.equal(trigger.exceeded(), 'uncaught string');
});

test('nothing is followed after a trigger was closed', (t) => {
  for (const when of [{ errorRate: 0.5 }, { uncaught: true }, { eventLoopDelay: '1s' }] as const) {
    const { trigger, host, context } = watching(t, when);
    trigger.close();
    assert.deepEqual(host.eventNames(), []);
    assert.equal(context.observer, undefined);
  }
});
