// In a process of its own: it follows the HTTP requests of the process.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import { runWithAttributes, runWithTenant } from '../../src/api.ts';
import type { ApiKeyRecord } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse, StatusResponse } from '../../src/wire/messages.ts';
import type { KeyName, TestRequest } from '../support/server.ts';
import { until } from '../support/until.ts';
import { startCollected } from './collected.ts';

const ACME_KEY = generateApiKey({ env: 'test', randomBytes });
const ACME: ApiKeyRecord = {
  id: 'acme',
  hash: hashApiKey(ACME_KEY),
  clientId: 'acme',
  tenantId: 'acme',
  scopes: ['discovery', 'control'],
};
const FOR_42 = { otelrdcp_target: { match: { 'user.id': '42' } } };

async function start(t: TestContext, config: Parameters<typeof startCollected>[2] = {}) {
  const running = await startCollected(t, 'PART', config);
  return {
    ...running,
    discovered: async (rest: TestRequest = {}) => (await running.shown(rest))!,
    messages: () => running.lines.map(({ message }) => message),
  };
}

const forUsers = (call: (user: string) => void) => {
  for (const user of ['41', '42', '43']) runWithAttributes({ 'user.id': user }, () => call(user));
};

describe('an enable with a target', () => {
  it('has the category on for that work alone, and leaves its state', async (t) => {
    const { category, control, discovered, messages } = await start(t);
    const { status, body } = await control('enable', { ...FOR_42, duration: '10m', reason: 'checkout fails' });
    assert.equal(status, 200);
    assert.deepEqual(body.changes, []);
    assert.equal(body.status, 'success');
    const { id, expiresAt, ...activation } = body.otelrdcp_activation!;
    assert.match(id, /^[0-9a-f]{12}$/);
    assert.equal(Date.parse(expiresAt!) - Date.parse(body.timestamp), 600_000);
    assert.deepEqual(activation, {
      categories: ['PART'],
      target: { match: { 'user.id': '42' } },
      reason: 'checkout fails',
      by: { userId: 'admin-client', clientId: 'admin-client', since: body.timestamp },
    });
    const enabled: string[] = [];
    forUsers((user) => {
      if (category.enabled) enabled.push(user);
      category.debug(`of ${user}`);
    });
    category.debug('of nobody');
    assert.deepEqual(enabled, ['42']);
    assert.deepEqual(messages(), ['of 42']);
    const found = await discovered();
    assert.equal(found.enabled, false);
    assert.equal(found.metrics.callsTotal, 1);
    assert.deepEqual(found.otelrdcp_activations, [body.otelrdcp_activation]);
  });

  it('traces the spans of that work', async (t) => {
    const { category, control } = await start(t);
    await control('enable', FOR_42);
    const spans: string[] = [];
    forUsers((user) => category.span('step', (span) => span !== undefined && spans.push(user)));
    assert.deepEqual(spans, ['42']);
  });

  it('ends by disable, reset and by its id, and leaves the permanent state then', async (t) => {
    const { category, control, discovered, messages, rdcp } = await start(t);
    rdcp.category('OTHER');
    const other = { action: 'enable', categories: 'OTHER', options: FOR_42 };
    await control('enable', {}, { body: other });
    for (const end of ['disable', 'reset'] as const) {
      await control('enable', FOR_42);
      const { body } = await control(end);
      assert.match(body.message, /; 1 activation ended/);
      assert.equal((await discovered()).otelrdcp_activations, undefined);
    }
    await control('enable');
    const { body: first } = await control('enable', FOR_42);
    const { body: second } = await control('enable', { otelrdcp_target: { match: { 'user.id': '43' } } });
    const { body } = await control('disable', { otelrdcp_id: first.otelrdcp_activation!.id });
    assert.deepEqual([body.categories, body.changes], [['PART'], []]);
    const left = await discovered();
    assert.equal(left.enabled, true);
    assert.deepEqual(
      left.otelrdcp_activations?.map(({ id }) => id),
      [second.otelrdcp_activation!.id],
    );
    const { body: again } = await control('reset', { otelrdcp_id: first.otelrdcp_activation!.id });
    assert.match(again.message, /Ended nothing/);
    await control('disable');
    forUsers((user) => category.debug(`of ${user}`));
    assert.deepEqual(messages(), []);
  });

  it('ends when its time is over, and when its budget is used up, with an entry each', async (t) => {
    const { category, control, discovered, messages, notices, request } = await start(t);
    const { body } = await control('enable', { ...FOR_42, duration: 1 });
    await until('the time is over', async () => (await discovered()).otelrdcp_activations === undefined);
    forUsers((user) => category.debug(`late of ${user}`));
    const { body: small } = await control('enable', { ...FOR_42, otelrdcp_budget: { calls: 2 } });
    for (let call = 0; call < 5; call++) forUsers((user) => category.debug(`${call} of ${user}`));
    assert.deepEqual(messages(), ['0 of 42', '1 of 42']);
    await until('the budget is used up', async () => (await discovered()).otelrdcp_activations === undefined);
    const trail = async () =>
      (await request<AuditResponse>(`${PATHS.audit}?action=expire`)).body.entries.map(
        ({ reason, otelrdcp_activation }) => [otelrdcp_activation?.id, reason],
      );
    const ids = [small, body].map(({ otelrdcp_activation }) => otelrdcp_activation?.id);
    await until('both are in the trail', async () => (await trail()).length === 2);
    assert.deepEqual(await trail(), [
      [ids[0], 'budget'],
      [ids[1], undefined],
    ]);
    assert.deepEqual(
      notices.filter((line) => line.includes('again')).map((line) => line.replace('rdcp: ', '')),
      [
        'PART off again for work with user.id, the time is over',
        'PART off again for work with user.id, the budget is used up',
      ],
    );
  });

  it('keeps values from the trail, the log, and everyone but who made it', async (t) => {
    const { control, discovered, notices, request } = await start(t);
    const { body } = await control(
      'enable',
      { otelrdcp_target: { match: { 'user.id': 'anna@example.org' } } },
      { key: 'operator' },
    );
    assert.equal(body.otelrdcp_activation?.target?.match?.['user.id'], 'anna@example.org');
    const seen = async (key: KeyName) =>
      (await discovered({ key })).otelrdcp_activations?.[0]?.target?.match?.['user.id'];
    assert.equal(await seen('operator'), 'anna@example.org');
    assert.equal(await seen('admin'), 'anna@example.org');
    const masked = await seen('discovery');
    assert.match(masked!, /^hmac:[0-9a-f]{12}$/);
    const { entries } = (await request<AuditResponse>(PATHS.audit)).body;
    assert.equal(
      entries.find(({ action }) => action === 'enable')?.otelrdcp_activation?.target?.match?.['user.id'],
      masked,
    );
    assert.doesNotMatch(JSON.stringify([entries, notices]), /anna/);
    assert.match(notices.join('\n'), /PART on for work with user\.id for 15m by operator-client/);
  });
});

describe('an enable with a filter', () => {
  it('writes and counts the lines that pass it', async (t) => {
    const { category, control, discovered, messages } = await start(t);
    await control('enable', { otelrdcp_filter: { where: 'rows > 1000 && table == "orders"', text: 'query*' } });
    await until('the filter is compiled', () => {
      category.debug('query first', { rows: 2000, table: 'orders' });
      return messages().length > 0;
    });
    const written = async () => {
      const { metrics, otelrdcp_dropped: dropped = 0 } = await discovered();
      return metrics.callsTotal - dropped;
    };
    const before = await written();
    // A filter may take a share of the time alone, so that calls can be dropped on a busy machine.
    await until('the line passes', () => {
      category.debug('query', { rows: 1001, table: 'orders' });
      return messages().includes('query');
    });
    category.debug('query', { rows: 1000, table: 'orders' });
    category.debug('insert', { rows: 2000, table: 'orders' });
    category.debug('query', { table: 'orders' });
    assert.equal(messages().filter((message) => message === 'query').length, 1);
    assert.equal(await written(), before + 1);
    // The last line has no `rows`.
    await until('a line that could not be evaluated is counted', async () => {
      category.debug('query', { table: 'orders' });
      return ((await discovered()).otelrdcp_unevaluated ?? 0) > 0;
    });
  });
});

describe('an activation of a tenant', () => {
  it('is for the work of that tenant alone, and hidden from others', async (t) => {
    const config = { tenancy: { isolation: 'organization' as const }, keys: [ACME] };
    const { category, control, discovered, messages } = await start(t, config);
    const acme = { key: undefined, headers: { 'X-RDCP-API-Key': ACME_KEY } } as unknown as TestRequest;
    const { status, body } = await control('enable', FOR_42, acme);
    assert.equal(status, 200);
    assert.equal(body.otelrdcp_activation?.tenant, 'acme');
    for (const tenant of ['acme', 'other']) {
      runWithTenant(tenant, () => forUsers((user) => category.debug(`${tenant} ${user}`)));
    }
    assert.deepEqual(messages(), ['acme 42']);
    assert.equal((await discovered()).otelrdcp_activations?.[0]?.tenant, 'acme');
    assert.equal((await discovered({ headers: { 'X-RDCP-Tenant-ID': 'other' } })).otelrdcp_activations, undefined);
    assert.equal((await discovered(acme)).otelrdcp_activations?.length, 1);
  });
});

it('16 activations of a category are the most in a scope', async (t) => {
  const { control } = await start(t);
  const answers: number[] = [];
  for (let user = 0; user < 17; user++) {
    const options = { otelrdcp_target: { match: { 'user.id': `${user}` } } };
    answers.push((await control('enable', options)).status);
  }
  assert.deepEqual(answers, [...Array(16).fill(200), 409]);
});

it('the metric counts the activations of a category, from the first one on', async (t) => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(meterProvider);
  t.after(() => {
    metrics.disable();
    return meterProvider.shutdown();
  });
  const { control } = await start(t);
  const counted = async () => {
    exporter.reset();
    await reader.forceFlush();
    const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    const points = all.find(({ descriptor }) => descriptor.name === 'rdcp.activation.count')?.dataPoints ?? [];
    return points.map(({ attributes, value }) => [attributes['rdcp.category.name'], value]);
  };
  assert.deepEqual(await counted(), []);
  await control('enable', FOR_42);
  assert.deepEqual(await counted(), [['PART', 1]]);
  await control('reset');
  assert.deepEqual(await counted(), [['PART', 0]]);
});

it('status lists activations by category', async (t) => {
  const { control, request } = await start(t);
  const { body } = await control('enable', FOR_42);
  const status = (await request<StatusResponse>(PATHS.status)).body;
  assert.deepEqual(status.otelrdcp_activations, { PART: [body.otelrdcp_activation] });
});

it('what cannot be matched or evaluated is refused, and nothing is on', async (t) => {
  const { control, category } = await start(t);
  const wrong: [action: string, options: object, field: string][] = [
    ['enable', { otelrdcp_target: {} }, 'options.otelrdcp_target.match'],
    ['enable', { otelrdcp_target: { match: {} } }, 'options.otelrdcp_target.match'],
    ['enable', { otelrdcp_target: { match: { password: 'x' } } }, 'options.otelrdcp_target.match.password'],
    ['enable', { otelrdcp_filter: { where: 'rows >' } }, 'options.otelrdcp_filter.where'],
    ['enable', { otelrdcp_filter: {} }, 'options.otelrdcp_filter'],
    ['enable', { ...FOR_42, temporary: false }, 'options.otelrdcp_target'],
    ['disable', FOR_42, 'options.otelrdcp_target'],
    ['enable', { otelrdcp_id: 'x' }, 'options.otelrdcp_id'],
    ['enable', { ...FOR_42, duration: '25h' }, 'options.duration'],
  ];
  for (const [action, options, field] of wrong) {
    const { status, body } = await control<ErrorResponse>(action, options);
    assert.equal(status, 400, JSON.stringify(options));
    assert.equal(body.error.details?.field, field);
  }
  runWithAttributes({ 'user.id': '42', password: 'x' }, () => assert.equal(category.enabled, false));
});
