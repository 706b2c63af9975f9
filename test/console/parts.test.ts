import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RdcpError, RdcpResponseError } from '../../src/client.ts';
import { shortBytes, shortNumber } from '../../src/tools/console/parts/format.ts';
import { bucketsOf, placeOf, sparklinePath, ticksOf } from '../../src/tools/console/parts/scale.ts';
import { commandOf, readDuration, receiptOf } from '../../src/tools/console/state/change.ts';
import { credentialOf } from '../../src/tools/console/state/credential.ts';
import { problemOf } from '../../src/tools/console/state/problem.ts';
import { HISTORY_SECONDS, RateHistory } from '../../src/tools/console/state/rate-history.ts';
import { countedSince, spansOfTrail } from '../../src/tools/console/state/spans.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import type { ControlResponse } from '../../src/wire/messages.ts';
import { discovered } from './discovered.ts';

test('a time is read with its unit, and not beyond the maximum', () => {
  assert.equal(readDuration(' 15m ', 3600), 900);
  assert.equal(readDuration('1 H', 3600), 3600);
  for (const text of ['', '15', '3w', '-1m', '0m', '1e3s'])
    assert.match(String(readDuration(text, 3600)), /with its unit/);
  assert.equal(readDuration('2h', 5400), 'At most 90m');
});

test('a change is as the dialog says, and permanent only when it says so', () => {
  const form = { intent: 'enable', categories: ['A'], seconds: 900, reason: ' slow ', budget: { calls: 5 } } as const;
  assert.deepEqual(commandOf(form), {
    action: 'enable',
    categories: ['A'],
    options: { temporary: true, duration: 900, reason: 'slow', otelrdcp_budget: { calls: 5 } },
  });
  const extended = commandOf({ ...form, intent: 'extend', reason: '  ', budget: undefined });
  assert.deepEqual(extended.options, { temporary: true, duration: 900 });
  assert.equal(extended.action, 'enable');
  assert.deepEqual(commandOf({ ...form, seconds: undefined }).options, { temporary: false, reason: 'slow' });
  assert.deepEqual(commandOf({ ...form, intent: 'disable' }).options, {
    temporary: true,
    duration: 900,
    reason: 'slow',
  });
  assert.deepEqual(commandOf({ ...form, intent: 'reset' }), {
    action: 'reset',
    categories: ['A'],
    options: { reason: 'slow' },
  });
});

function answer(more: object): ControlResponse {
  const change = { category: 'A', previousState: false, newState: true, temporary: true, effectiveAt: '' };
  return { status: 'success', message: 'Enabled A', changes: [change], ...more } as unknown as ControlResponse;
}

test('a receipt names the new state, and for whom', () => {
  const fleet = { revision: 1, instances: 8, applied: 8, pending: [] };
  assert.deepEqual(receiptOf(answer({ otelrdcp_fleet: fleet }), 'for acme'), {
    tone: 'good',
    title: 'On for acme: A',
    detail: 'Applied by 8 of 8 processes.',
  });
  const behind = { ...fleet, applied: 7, pending: ['p-8'] };
  assert.deepEqual(receiptOf(answer({ status: 'partial', otelrdcp_fleet: behind }), 'for everybody'), {
    tone: 'warning',
    title: 'Partial. On for everybody: A',
    detail: 'Applied by 7 of 8 processes; still pending: p-8.',
  });
  const silent = { ...behind, lastSeen: { 'p-8': '2026-01-31T14:05:12.000Z' } };
  assert.match(
    receiptOf(answer({ status: 'partial', otelrdcp_fleet: silent }), 'for everybody').detail,
    /^Applied by 7 of 8 processes; still pending: p-8 \(not heard of since [\d: -]+\)\.$/,
  );
  assert.deepEqual(receiptOf(answer({ otelrdcp_fleet: fleet, otelrdcp_tenantKnown: false }), 'for acmee'), {
    tone: 'warning',
    title: 'Unknown tenant. On for acmee: A',
    detail: 'Applied by 8 of 8 processes.',
  });
  const single = { revision: 1, instances: 1, applied: 1, pending: [] };
  assert.equal(receiptOf(answer({ otelrdcp_fleet: single }), '').detail, '');
  assert.match(receiptOf(answer({ otelrdcp_shared: false }), '').detail, /^In this process alone/);
  const alone = receiptOf(answer({ status: 'partial', message: 'in this process alone' }), '');
  assert.equal(alone.detail, 'in this process alone');
});

test('a problem names the next step: sign in, wait, or try elsewhere', () => {
  const refused = (status: number, retryAfter: string | null = null) =>
    problemOf(new RdcpResponseError({ status, requestId: 'r', body: undefined, retryAfter }), 1_000_000);
  for (const [status, title] of [
    [401, 'The credential was not accepted'],
    [403, 'Your credential does not allow this'],
    [409, 'Not now'],
    [503, 'The server cannot do this now'],
    [500, 'The server failed'],
    [400, 'The server did not accept the request'],
  ] as const) {
    assert.deepEqual([refused(status).status, refused(status).title], [status, title]);
  }
  assert.equal(refused(429, '30').retryAt, 1_030_000);
  assert.equal(refused(429, new Date(2_000_000).toUTCString()).retryAt, 2_000_000);
  assert.equal(problemOf(new RdcpError('RDCP_UNAVAILABLE', 'x'), 0).status, 'offline');
  assert.equal(problemOf(new TypeError('x'), 0).status, 'failed');
});

test('a sparkline has its peak at the top, and gaps stay gaps', () => {
  assert.equal(sparklinePath([0, 5, 10], 100, 20), 'M0 20L50 10L100 0');
  assert.equal(sparklinePath([1, Number.NaN, 1], 100, 20), 'M0 0M100 0');
  assert.equal(sparklinePath([0, 0], 10, 20), 'M0 20L10 20');
  assert.equal(sparklinePath([], 10, 20), '');
});

test('times are counted in minutes of the clock, the quiet ones too, and have round times below them', () => {
  const at = (clock: string) => Date.parse(`2026-01-31T${clock}Z`);
  const times = [at('12:01:20'), at('12:03:00'), at('12:03:59')];
  const { from, to, counts } = bucketsOf(times, { since: at('12:00:30'), until: at('12:04:10'), step: 60_000 });
  assert.deepEqual([from, to, counts], [at('12:00:00'), at('12:05:00'), [0, 1, 0, 2, 0]]);
  const bars = bucketsOf(times);
  assert.deepEqual([bars.from, bars.to, bars.counts.length], [times[0], times[2], 80]);
  assert.equal(bucketsOf([Number.NaN]).counts.length, 0);
  assert.deepEqual(
    ticksOf({ from, to }).map(([place]) => place),
    [0, 20, 40, 60, 80, 100],
  );
  assert.ok(ticksOf({ from, to: from + 15 * 60_000 }).every(([, text]) => /^\d\d:\d[05]$/.test(text)));
  assert.ok(ticksOf({ from, to: from + 40 * 86_400_000 }).length <= 7);
  assert.deepEqual(ticksOf({ from, to: from }), []);
  assert.deepEqual(
    [placeOf(5, { from: 0, to: 20 }), placeOf(-1, { from: 0, to: 1 }), placeOf(1, { from: 1, to: 1 })],
    [25, 0, 0],
  );
});

test('the audit trail says who was on when: extended, ended, expired, and begun before it', () => {
  const at = (minute: number) => new Date(1_700_000_000_000 + minute * 60_000).toISOString();
  const entry = (minute: number, action: string, more: object): AuditEntry =>
    ({
      ...{ id: String(minute), timestamp: at(minute), action, categories: ['A'], changes: [], outcome: 'success' },
      ...{ identity: { userId: 'alice' }, ...more },
    }) as unknown as AuditEntry;
  const change = (previousState: boolean, newState: boolean, until?: number) => ({
    changes: [{ category: 'A', previousState, newState, ...(until && { expiresAt: at(until) }) }],
  });
  const activation = { otelrdcp_activation: { id: 'x', target: { match: { 'user.id': '42' } }, expiresAt: at(50) } };
  const entries = [
    entry(1, 'reset', change(true, false)),
    entry(10, 'enable', change(false, true, 20)),
    entry(15, 'enable', change(true, true, 40)),
    entry(16, 'enable', { ...change(false, true), tenant: { id: 'acme' } }),
    entry(17, 'enable', { ...change(true, false), outcome: 'denied' }),
    entry(18, 'enable', activation),
    entry(25, 'disable', activation),
    entry(30, 'reset', change(true, false)),
    entry(32, 'enable', change(false, true, 33)),
    entry(60, 'enable', change(false, true, 70)),
  ];
  const minuteOf = (time: number) => (Number.isFinite(time) ? (time - 1_700_000_000_000) / 60_000 : time);
  const spans = spansOfTrail(entries.toReversed()).map(({ whom, reach, from, to, who }) => [
    ...[reach, whom, minuteOf(from), minuteOf(to), who],
  ]);
  assert.deepEqual(spans, [
    ['everybody', 'everybody', Number.NEGATIVE_INFINITY, 1, ''],
    ['some', 'user.id=42', 18, 25, 'alice'],
    ['everybody', 'everybody', 10, 30, 'alice'],
    ['everybody', 'everybody', 32, 33, 'alice'],
    ['tenant', 'acme', 16, Number.POSITIVE_INFINITY, 'alice'],
    ['everybody', 'everybody', 60, 70, 'alice'],
  ]);
});

test('calls are counted since the first of what a category is on for now', () => {
  const since = (second: number) => new Date(1_700_000_000_000 + second * 1000).toISOString();
  const work = (second: number, more = {}) => ({
    ...{ id: 'x', categories: ['A'], by: { since: since(second) }, ...more },
  });
  for (const [given, expected] of [
    [{}, Number.POSITIVE_INFINITY],
    [{ enabled: true }, Number.NEGATIVE_INFINITY],
    [{ enabled: true, otelrdcp_control: { since: since(7) } }, 7],
    [{ otelrdcp_activations: [work(9), work(8), work(1, { when: { failed: true } }), work(2, { record: true })] }, 8],
    [{ otelrdcp_activations: [work(1, { record: true })] }, Number.POSITIVE_INFINITY],
  ] as const) {
    const from = countedSince(discovered({ name: 'A', ...given } as Parameters<typeof discovered>[0]));
    assert.equal(Number.isFinite(from) ? (from - 1_700_000_000_000) / 1000 : from, expected, JSON.stringify(given));
  }
});

test('the history of rates has a place for each second, and gaps for seconds without an event', () => {
  const history = new RateHistory();
  const at = (second: number) => new Date(1_700_000_000_000 + second * 1000).toISOString();
  history.add({ timestamp: at(0), callsPerSecond: 4, categories: { A: 4 } });
  history.add({ timestamp: at(1), callsPerSecond: 0, categories: {} });
  history.add({ timestamp: at(5), callsPerSecond: 1, categories: { B: 1 } });
  assert.deepEqual([...history.of('A').slice(-6)], [4, 0, Number.NaN, Number.NaN, Number.NaN, 0]);
  assert.deepEqual([...history.of('B').slice(-6)], [0, 0, Number.NaN, Number.NaN, Number.NaN, 1]);
  assert.deepEqual([...history.of('NONE').slice(-2)], [Number.NaN, 0]);
  history.add({ timestamp: at(5 + HISTORY_SECONDS), callsPerSecond: 2, categories: {} });
  assert.equal(history.of('A').filter((rate) => !Number.isNaN(rate)).length, 1);
  history.clear();
  assert.equal(history.of('A').length, 0);

  history.add({
    ...{ timestamp: at(2000), callsPerSecond: 7, categories: { A: 7 } },
    history: { secondsAgo: [40, 25, 10], categories: { A: [1, 2, 3] } },
  });
  const known = [...history.of('A', { seconds: 42 })];
  assert.deepEqual(
    [known[0], known[1], known[2], known[16], known[17], known[31], known[32]],
    [NaN, NaN, 1, 1, 2, 2, 3],
  );
  assert.deepEqual([...history.of('B', { seconds: 2 })], [0, 0], 'what was not called in that time was measured too');
  const from = Date.parse(at(2000));
  assert.deepEqual([...history.of('B', { seconds: 3, from })], [NaN, NaN, 0], 'but not while it was off');
  assert.equal(known.at(-1), 7);
  for (const [second, dropped] of [
    [2001, 7],
    [2002, 7],
    [2003, 12],
  ] as const) {
    history.add({ timestamp: at(second), callsPerSecond: 0, categories: {}, budgets: { OLD: { dropped } } });
  }
  assert.deepEqual([...history.droppedOf('OLD').slice(-4)], [0, 0, 0, 5]);
  assert.deepEqual([...history.of('A', { seconds: 4 })], [7, 0, 0, 0]);
});

test('numbers are short', () => {
  const numbers = [0, 0.01, 0.34, 12.4, 999.4, 1234, 3_400_000].map(shortNumber);
  assert.deepEqual(numbers, ['0', '0.01', '0.34', '12', '999', '1.2K', '3.4M']);
  assert.deepEqual([0, 999, 1500, 2.5e9].map(shortBytes), ['0 B', '999 B', '1.5 kB', '2.5 GB']);
});

test('a credential is known by its form, where the server takes both kinds', () => {
  const jwt = 'eyJhbGciOi.eyJzdWIi.c2ln';
  const kindOf = (text: string, ...methods: string[]) => credentialOf(text, methods).kind;
  assert.equal(kindOf(jwt, 'api-key', 'bearer'), 'bearer');
  assert.equal(kindOf('key', 'api-key', 'bearer'), 'api-key');
  assert.equal(kindOf('opaque', 'bearer'), 'bearer');
  assert.equal(kindOf(jwt, 'api-key'), 'api-key');
  assert.deepEqual(credentialOf('Bearer opaque', ['api-key', 'bearer']), { kind: 'bearer', value: 'opaque' });
});
