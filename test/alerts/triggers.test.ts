import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HttpRequests } from '../../src/calls/work/http-requests.ts';
import { WorkOutcomes } from '../../src/calls/work/outcomes.ts';
import type { AlertRule } from '../../src/control/alerts/alert-controls.ts';
import { openTrigger } from '../../src/control/alerts/measured.ts';
import { Work, WorkContext } from '../../src/gate/work.ts';
import { parseConfig } from '../../src/options/config.ts';
import type { AlertsResponse } from '../../src/wire/alert-notification.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import fc from '../support/fast-check.ts';
import { KEYS, startServer } from '../support/server.ts';
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

const RULE = { name: 'errors', match: { alertname: 'HighErrorRate' }, enable: ['DATABASE'], for: '15m' };

/** The message for a second rule with these options. */
function refusal(options: object, config: object = {}): string {
  try {
    parseConfig({ ...config, alerts: [RULE, { ...RULE, name: 'other', ...options }] });
  } catch (error) {
    assert.ok(isRdcpError(error) && error.code === 'RDCP_CONFIG_INVALID');
    return error.message.replace(/^configuration: /, '');
  }
  throw new Error(`accepted ${JSON.stringify(options)}`);
}

test('a rule with an expression that is not valid is refused, with the place of the mistake', () => {
  assert.equal(
    refusal({ filter: { where: 'rows >' } }),
    'alerts.1.filter.where is not a valid expression at character 7: Unexpected token: EOF',
  );
  assert.match(refusal({ filter: { where: 'rows + 1' } }), /^alerts\.1\.filter\.where is not a valid expression/);
  assert.match(refusal({ filter: { where: 'message.matches("a")' } }), /^alerts\.1\.filter\.where .*matches\(\)/);
  assert.match(refusal({ filter: { where: `"${'x'.repeat(512)}" == message` } }), /^alerts\.1\.filter\.where .*512/);
});

test('a rule whose target, condition or category cannot be switched is refused by the name of its field', () => {
  const cases: readonly (readonly [string, object])[] = [
    ['alerts.1.target.match', { target: {} }],
    ['alerts.1.target.match', { target: { match: {} } }],
    ['alerts.1.target.match.a b', { target: { match: { 'a b': '1' } } }],
    ['alerts.1.target.match.http.request.header.cookie', { target: { match: { 'http.request.header.cookie': 'a' } } }],
    ['alerts.1.target.match.user.password', { target: { match: { 'user.password': 'a' } } }],
    ['alerts.1.target.request', { target: { request: true } }],
    ['alerts.1.target.instances.percent', { target: { instances: { percent: 0 } } }],
    ['alerts.1.filter', { filter: {} }],
    ['alerts.1.filter.sample', { filter: { sample: 2 } }],
    ['alerts.1.when', { when: {} }],
    ['alerts.1.when.failed', { when: { failed: false } }],
    ['alerts.1.when.slowerThan', { when: { slowerThan: 'soon' } }],
    ['alerts.1.when.slowerThan', { when: { slowerThan: '2h' } }],
    ['alerts.1.when.fails', { when: { fails: true } }],
    ['alerts.1.enable.0', { enable: ['DATA*'] }],
    ['alerts.1.enable.1', { enable: ['DATABASE', 'database'] }],
    ['alerts.1.match', { match: {} }],
    ['alerts.1.match', { match: undefined }],
    ['alerts.1.match', { match: undefined, when: { failed: true } }],
    ['alerts.1.match', { when: { uncaught: true } }],
    ['alerts.1.when', { match: undefined, when: { uncaught: true, errorRate: 0.5 } }],
    ['alerts.1.when.over', { match: undefined, when: { uncaught: true, over: '1m' } }],
    ['alerts.1.when.over', { match: undefined, when: { errorRate: 0.5, over: '2h' } }],
    ['alerts.1.when.aborted', { match: undefined, when: { uncaught: true, aborted: true } }],
    ['alerts.1.when.errorRate', { match: undefined, when: { errorRate: 5 } }],
    ['alerts.1.when.errorRate', { match: undefined, when: { errorRate: 0 } }],
    ['alerts.1.when.eventLoopDelay', { match: undefined, when: { eventLoopDelay: 200 } }],
    ['alerts.1.when.uncaught', { match: undefined, when: { uncaught: false } }],
  ];
  for (const [field, options] of cases) assert.ok(refusal(options).startsWith(`${field} `), refusal(options));
});

test('an attribute that redaction hides is no target of a rule', () => {
  const target = { match: { 'http.request.header.x-session': 'a' } };
  parseConfig({ alerts: [{ ...RULE, target }] });
  assert.equal(
    refusal({ target }, { emit: { redact: ['x-session'] } }),
    'alerts.1.target.match.http.request.header.x-session is an attribute whose value is redacted',
  );
});

const ON_FAILURES = {
  name: 'orders',
  match: { alertname: 'Orders fail', route: '/orders*' },
  enable: ['DATABASE'],
  for: '15m',
};

test('an alert of Grafana switches on when it fires, and ends that when it is resolved', async (t) => {
  const time = virtualTime(Date.UTC(2026, 0, 1, 0, 1));
  const server = await startServer(t, { clock: time.clock, config: { alerts: [ON_FAILURES] } });
  const post = async (status: 'firing' | 'resolved') => {
    const firing = readFileSync(join(import.meta.dirname, 'grafana-firing.json'), 'utf8');
    const resolved = firing.replaceAll('"status": "firing"', '"status": "resolved"');
    const ended = resolved.replaceAll('0001-01-01T00:00:00Z', '2026-01-01T01:04:10+01:00');
    const body = status === 'firing' ? firing : ended;
    // As Grafana sends the authorization of a contact point.
    const headers = { Authorization: `Bearer ${KEYS.alerts}` };
    const answer = await server.request<AlertsResponse>(PATHS.alerts, { method: 'POST', headers, body });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const firing = await post('firing');
  assert.deepEqual([firing.matched, firing.switched.map(({ rule }) => rule)], [1, ['orders']]);
  assert.equal(server.plane.temporaryControls(), 1);
  await time.pass(60_000);
  assert.deepEqual((await post('firing')).switched, firing.switched);
  const resolved = await post('resolved');
  assert.deepEqual([resolved.matched, resolved.switched], [1, []]);
  assert.equal(server.plane.temporaryControls(), 0);
  const { body } = await server.request<AuditResponse>(PATHS.audit, { key: 'admin' });
  const subject = 'c6eadffa33fcdf37 alertname=Orders fail grafana_folder=shop route=/orders';
  assert.deepEqual(
    body.entries.map(({ action, reason }) => [action, reason]),
    [
      ['reset', `resolved: ${subject}`],
      ['enable', subject],
    ],
  );
});
