// In a process of its own: it starts an SDK of OpenTelemetry.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Context, context, propagation } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { InMemoryLogRecordExporter, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import type { RdcpConfig } from '../../src/options/options.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { DiscoveryResponse } from '../../src/wire/messages.ts';
import { makeKey } from '../auth/records.ts';
import { scrape } from '../metrics/scrape.ts';
import { startService } from '../support/service.ts';

const acme = makeKey({ id: 'acme', clientId: 'acme', tenantId: 'acme', scopes: ['admin'] });
const admin = makeKey({ id: 'admin', clientId: 'admin', scopes: ['admin'] });
const [ACME, ADMIN] = [acme.key, admin.key];

const logs = new InMemoryLogRecordExporter();
const spans = new InMemorySpanExporter();
const prometheus = new PrometheusExporter({ preventServerStart: true });
const sdk = new NodeSDK({
  logRecordProcessors: [new SimpleLogRecordProcessor({ exporter: logs })],
  spanProcessors: [new SimpleSpanProcessor({ exporter: spans })],
  metricReaders: [prometheus],
  instrumentations: [],
  autoDetectResources: false,
});
before(() => sdk.start());
after(() => sdk.shutdown());

/** The composed remote control, with a service's point that the tests switch. */
async function start(t: TestContext, config: RdcpConfig, point: string) {
  const { rdcp, url } = await startService(t, {
    emit: {},
    security: {
      apiKeys: [acme.record, admin.record],
    },
    ...config,
  });
  const as = (key: string, body?: object) => ({
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'X-RDCP-API-Key': key, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return {
    rdcp,
    category: rdcp.category(point),
    async enable(key: string) {
      const answer = await fetch(url + PATHS.control, as(key, { action: 'enable', categories: point }));
      assert.equal(answer.status, 200);
    },
    async calls(key: string) {
      const body = (await (await fetch(url + PATHS.discovery, as(key))).json()) as DiscoveryResponse;
      return body.categories.find(({ name }) => name === point)?.metrics.callsTotal;
    },
  };
}

const withBaggage = (value: string): Context =>
  propagation.setBaggage(context.active(), propagation.createBaggage({ 'tenant.id': { value } }));

describe('the tenant that OpenTelemetry baggage names', () => {
  const tenancy = { isolation: 'organization', baggageKey: 'tenant.id' } as const;

  test('is the one whose settings decide and whose call it is, also after waiting', async (t) => {
    const { rdcp, category, enable, calls } = await start(t, { tenancy }, 'BY_BAGGAGE');
    await enable(ACME);
    assert.equal(category.enabled, false);
    await context.with(withBaggage('acme'), async () => {
      await sleep(1);
      assert.equal(category.enabled, true);
      category.debug('by baggage');
      rdcp.runWithTenant('other', () => assert.equal(category.enabled, false));
    });
    for (const value of ['other', 'Acme', 'ac me', '*', '']) {
      context.with(withBaggage(value), () => assert.equal(category.enabled, false, value));
    }
    assert.equal(await calls(ACME), 1);
    const [record] = logs.getFinishedLogRecords().filter(({ body }) => body === 'by baggage');
    assert.equal(record?.attributes['rdcp.tenant.id'], 'acme');
  });

  test('is not read without configuration', async (t) => {
    const { category, enable } = await start(t, { tenancy: { isolation: 'organization' } }, 'NO_BAGGAGE');
    await enable(ACME);
    context.with(withBaggage('acme'), () => assert.equal(category.enabled, false));
  });
});

describe('telemetry', () => {
  test('sets the tenant of a record and a span alone', async (t) => {
    const { rdcp, category, enable } = await start(t, { tenancy: { isolation: 'process' } }, 'TOLD');
    await enable(ADMIN);
    rdcp.runWithTenant('acme', () => category.span('of acme', () => category.debug('of acme')));
    category.span('of nobody', () => category.debug('of nobody'));
    const tenants = (all: readonly { readonly attributes: object }[]) =>
      all.map(({ attributes }) => (attributes as Record<string, unknown>)['rdcp.tenant.id']);
    const bodies = ['of acme', 'of nobody'];
    assert.deepEqual(tenants(logs.getFinishedLogRecords().filter(({ body }) => bodies.includes(String(body)))), [
      'acme',
      undefined,
    ]);
    assert.deepEqual(tenants(spans.getFinishedSpans().filter(({ name }) => bodies.includes(name))), [
      'acme',
      undefined,
    ]);
  });

  /** The samples of the calls of a point, by their labels. */
  async function series(point: string): Promise<Record<string, number>> {
    const lines = (await scrape(prometheus)).split('\n');
    const own = lines.filter((line) => line.startsWith('rdcp_debug_calls_total') && line.includes(`"${point}"`));
    return Object.fromEntries(
      own.map((line) => [/rdcp_tenant_id="([^"]*)"/.exec(line)?.[1] ?? 'none', Number(line.split(' ').at(-1))]),
    );
  }

  test('has no tenants in the metrics, unless they are asked for', async (t) => {
    const { rdcp, category, enable } = await start(t, { tenancy: { isolation: 'organization' } }, 'ONE_SERIES');
    await enable(ADMIN);
    rdcp.runWithTenant('acme', () => category.debug('m'));
    category.debug('m');
    assert.deepEqual(await series('ONE_SERIES'), { none: 2 });
  });

  test('has a series for each tenant when they are, whose sum is what was emitted', async (t) => {
    const { rdcp, category, enable, calls } = await start(
      t,
      { tenancy: { isolation: 'process' }, metrics: { tenantAttribute: true } },
      'MANY_SERIES',
    );
    await enable(ADMIN);
    category.debug('m');
    for (const [tenant, count] of [
      ['acme', 2],
      ['beta', 3],
    ] as const) {
      for (let call = 0; call < count; call++) rdcp.runWithTenant(tenant, () => category.debug('m'));
    }
    assert.deepEqual(await series('MANY_SERIES'), { none: 1, acme: 2, beta: 3 });
    assert.equal(await calls(ACME), 6);
  });
});
