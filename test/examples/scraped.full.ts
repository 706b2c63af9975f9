import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dashboard } from '../../examples/observability/dashboard.ts';
import type { DiscoveryResponse } from '../../src/wire/messages.ts';
import { newFolder } from '../support/folder.ts';

import { until } from '../support/until.ts';
import { type Prometheus, startPrometheus } from './prometheus.ts';
import { withProgram } from './required-program.ts';
import { type RunningShop, startShop } from './running-shop.ts';

test('a real Prometheus scrapes what discovery answers, and every query of the dashboard and every recording rule has data', async (t) => {
  await withProgram(t, 'prometheus', async () => {
    const directory = newFolder(t);
    const config = join(directory, 'rdcp.json');
    writeFileSync(config, JSON.stringify({ tenancy: { isolation: 'organization' } }));
    const shop = await startShop({ RDCP_CONFIG: config });
    try {
      const prometheus = await startPrometheus(new URL(shop.metrics).host);
      try {
        await showZeroWhileQuiet(prometheus);
        await compareTotals(shop, prometheus);
        const started = new Date();
        await askEveryQuery(shop, prometheus);
        await showWhatWasEverOn(prometheus, started);
        await shop.child.end();
        await showNothingOfTheDead(prometheus);
      } finally {
        await prometheus.end();
      }
    } finally {
      await shop.end();
    }
  });
});

/** The timeline has what was on at some time, also for a tenant alone, from before that on, and nothing else. */
async function showWhatWasEverOn(prometheus: Prometheus, start: Date): Promise<void> {
  const range = `${Math.ceil((Date.now() - start.getTime()) / 1000)}s`;
  const expr = substitute(queryOf('Which categories were on').replaceAll('$__range', range));
  const series = await prometheus.queryRange(expr, start);
  const byName = new Map(series.map(({ metric, values }) => [metric.rdcp_category_name, values]));
  assert.deepEqual([...byName.keys()].sort(), ['AUTH', 'CACHE', 'DATABASE', 'ORDERS']);
  for (const [name, values] of byName) {
    assert.deepEqual([...new Set(values)].sort(), [0, 1], name);
    assert.equal(values[0], 0, `${name} was off at first`);
  }
  const all = await prometheus.query('count(rdcp_category_enabled)');
  assert.ok((all[0]?.value ?? 0) > byName.size, 'others were never on');
}

function stat(title: string): string {
  return substitute(queryOf(title));
}

function queryOf(title: string): string {
  const found = dashboard().panels?.find((panel) => panel.title === title);
  assert.ok(found !== undefined && 'targets' in found, title);
  return String(Reflect.get(found.targets?.[0] ?? {}, 'expr'));
}

const SHOWN_WHILE_UP = ['Categories on', 'Temporary controls', 'Debug calls a second'];

/** Counters and rates that begin with their first event are zero before it. */
async function showZeroWhileQuiet(prometheus: Prometheus): Promise<void> {
  for (const title of [...SHOWN_WHILE_UP, 'Credentials refused', 'Audit failures', 'Conditions', 'Failures a minute']) {
    const [sample] = await until(`zero for ${title}`, async () => {
      const samples = await prometheus.query(stat(title));
      return samples.length === 0 ? undefined : samples;
    });
    assert.equal(sample?.value, 0, title);
  }
}

async function showNothingOfTheDead(prometheus: Prometheus): Promise<void> {
  for (const title of SHOWN_WHILE_UP) {
    await until(`no data for ${title}`, async () => {
      const samples = await prometheus.query(stat(title));
      return samples.length === 0 ? true : undefined;
    });
  }
}

async function compareTotals(shop: RunningShop, prometheus: Prometheus): Promise<void> {
  await shop.post({ action: 'enable', categories: ['DATABASE', 'ORDERS'], options: { duration: '1h' } });
  await until('some calls of both', async () => {
    const { categories } = await shop.get<DiscoveryResponse>('/rdcp/v1/discovery');
    return categories.filter((category) => category.metrics.callsTotal > 10).length === 2 || undefined;
  });
  // With every category off nothing is counted any more: the two can be compared although the shop goes on.
  await shop.post({ action: 'reset' });
  const { performance } = await shop.get<DiscoveryResponse>('/rdcp/v1/discovery');
  assert.ok(performance.totalCalls > 20);

  const scraped = await until('a scrape of the final totals', async () => {
    const samples = await prometheus.query('rdcp_debug_calls_total');
    const sum = samples.reduce((total, sample) => total + sample.value, 0);
    return sum === performance.totalCalls ? samples : undefined;
  });
  assert.deepEqual(
    Object.fromEntries(scraped.map(({ metric, value }) => [metric.rdcp_category_name, value])),
    performance.categoryBreakdown,
  );
}

/** The values of Grafana's variables: everything, and windows that hold several scrapes of one second. */
const VARIABLES: Record<string, string> = {
  $job: '.+',
  $instance: '.+',
  $category: '.+',
  $__rate_interval: '10s',
  $__range: '60s',
};

function substitute(expr: string): string {
  const filled = expr.replaceAll(/\$\w+/g, (name) => VARIABLES[name] ?? assert.fail(`what is ${name}?`));
  return filled.replaceAll('[75s]', '[20s]').replaceAll('offset 75s', 'offset 20s');
}

async function askEveryQuery(shop: RunningShop, prometheus: Prometheus): Promise<void> {
  const { panels, templating, annotations } = dashboard();
  const rules = await prometheus.rules();
  const recorded = rules.filter((rule) => rule.type === 'recording').map(({ name }) => name);
  assert.ok(recorded.length > 0 && recorded.length < rules.length);
  const queries = [
    ...recorded.map((name) => ['recording rule', name]),
    ...(panels ?? []).flatMap((panel) =>
      ('targets' in panel ? (panel.targets ?? []) : []).map((target) => [panel.title, Reflect.get(target, 'expr')]),
    ),
    ...(annotations?.list ?? []).map((annotation) => [annotation.name, annotation.expr]),
  ];
  assert.ok(queries.length >= 15);

  const unanswered = new Map(queries.map(([title, expr]) => [substitute(String(expr)), title]));
  // ORDERS, because what is disabled below loses its activations.
  const recording = { duration: '5m', otelrdcp_when: { failed: true, slowerThan: '5ms' } };
  await shop.post({ action: 'enable', categories: ['ORDERS'], options: recording });
  await until('what is on for some work alone counts as on', async () => {
    const [sample] = await prometheus.query(stat('Categories on'));
    return sample?.value === 1;
  });
  // A false token of a customer makes AUTH lose a call. What is shown over a short window comes and goes: requests and refusals go on until every query had its answer.
  for (let round = 0; unanswered.size > 0; round++) {
    assert.ok(round < 20, `no data: ${JSON.stringify([...unanswered], undefined, 2)}`);
    await shop.post({
      action: round % 2 === 0 ? 'enable' : 'disable',
      categories: ['DATABASE', 'AUTH'],
      options: { duration: '1m', reason: 'the dashboard wants data' },
    });
    await shop.post(
      { action: 'enable', categories: ['CACHE'], options: { duration: '1m', reason: 'for a tenant' } },
      { 'X-RDCP-Tenant-ID': 'acme' },
    );
    await fetch(`${shop.control}/rdcp/v1/status`, { headers: { 'X-RDCP-API-Key': 'no key of anybody' } });
    await sleep(1000);
    for (const expr of unanswered.keys()) {
      const samples = await prometheus.query(expr);
      if (samples.some((sample) => Number.isFinite(sample.value))) unanswered.delete(expr);
    }
  }

  for (const { name, health } of await prometheus.rules()) assert.equal(health, 'ok', name);
  const categories = await prometheus.labelValues(
    'rdcp_category_name',
    'rdcp_category_enabled{job=~".+", instance=~".+"}',
  );
  assert.ok(categories.includes('DATABASE'));
  const choices = (templating?.list ?? []).filter((variable) => variable.type === 'query');
  assert.equal(choices.length, 3);
  for (const { definition } of choices) {
    const [, selector, label] = /^label_values\((.+), (\w+)\)$/.exec(definition ?? '') ?? [];
    assert.ok(selector !== undefined && label !== undefined, definition);
    assert.notDeepEqual(await prometheus.labelValues(label, substitute(selector)), [], definition);
  }
}
