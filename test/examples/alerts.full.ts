import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import type { DiscoveryResponse } from '../../src/wire/messages.ts';
import { blocksOf } from '../documents/blocks.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { type Child, start } from './child.ts';
import { startGuided } from './guided.ts';
import { startPrometheus } from './prometheus.ts';
import { withProgram } from './required-program.ts';
import { REGISTER, shopEnvironment } from './running-shop.ts';

const KEYS = {
  alerts: generateApiKey({ env: 'test', randomBytes }),
  admin: generateApiKey({ env: 'test', randomBytes }),
};

/** The blocks of docs/alerts.md, by language. */
const documented = (language: string) => blocksOf(language).filter(({ document }) => document === 'docs/alerts.md');

test('a shop whose orders begin to fail writes its debug lines without a person, until they succeed again', async (t) => {
  await withProgram(t, 'prometheus', () =>
    withProgram(t, 'prometheus-alertmanager', async () => {
      const folder = newFolder(t);
      const shop = await startFailingShop(t, folder);
      const alertmanager = await startAlertmanager(t, folder, shop.control);
      const [, rule] = documented('yaml');
      const rules = join(folder, 'shop.rules.yml');
      writeFileSync(rules, (rule?.code ?? '').replaceAll('[1m]', '[5s]'));
      const prometheus = await startPrometheus(shop.metrics, {
        rule_files: [rules],
        alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
      });
      t.after(() => prometheus.end());
      await until('a scrape of requests', async () => {
        return (await prometheus.query('rate(http_server_request_duration_count[5s])')).length > 0;
      });
      assert.doesNotMatch(shop.child.output.stderr, /ORDERS/);

      const fault = performance.now();
      shop.breakTable();
      await until('an order that failed', () => /no such table/.test(shop.child.output.stderr));
      const failed = performance.now();
      await until('a debug line of an order', () => /ORDERS.*asked for/.test(shop.child.output.stderr));
      const seconds = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
      t.diagnostic(
        `first debug line ${seconds(fault)} after the fault, ${seconds(failed)} after the first failed order`,
      );

      const repaired = performance.now();
      shop.repairTable();
      await until('the end of the activation', async () => (await shop.activations()) === 0);
      t.diagnostic(`off ${seconds(repaired)} after the repair`);
      const { entries } = await shop.get<AuditResponse>('/rdcp/v1/audit?client=alert.orders-fail');
      assert.deepEqual(
        entries.map(({ action, outcome }) => [action, outcome]),
        [
          ['reset', 'success'],
          ['enable', 'success'],
        ],
      );
      assert.match(entries[1]?.reason ?? '', /^[0-9a-f]{16} alertname=HighErrorRate job=shop$/);
    }),
  );
});

async function startFailingShop(t: TestContext, folder: string) {
  const [{ code } = { code: '' }] = documented('json');
  const record = (id: 'alerts' | 'admin') => ({ id, clientId: id, hash: hashApiKey(KEYS[id]), scopes: [id] });
  const config = { ...JSON.parse(code), security: { apiKeys: [record('alerts'), record('admin')] } };
  writeFileSync(join(folder, 'rdcp.json'), JSON.stringify(config));
  const file = join(folder, 'shop.sqlite');
  const env = { ...(await shopEnvironment()), SHOP_DATABASE: file, RDCP_CONFIG: join(folder, 'rdcp.json') };
  const { child, end } = await startGuided('examples/shop/main.ts', { env, node: REGISTER });
  t.after(end);
  const control = `127.0.0.1:${env.RDCP_PORT}`;
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(`http://${control}${path}`, { headers: { 'X-RDCP-API-Key': KEYS.admin } });
    return (await response.json()) as T;
  };
  const execute = (sql: string) => {
    const database = new DatabaseSync(file, { timeout: 5000 });
    database.exec(sql);
    database.close();
  };
  return {
    child,
    control,
    get,
    metrics: `127.0.0.1:${env.METRICS_PORT}`,
    breakTable: () => execute('ALTER TABLE products RENAME TO products_of_yesterday'),
    repairTable: () => execute('ALTER TABLE products_of_yesterday RENAME TO products'),
    async activations() {
      const { categories } = await get<DiscoveryResponse>('/rdcp/v1/discovery');
      return categories.flatMap(({ otelrdcp_activations = [] }) => otelrdcp_activations).length;
    },
  };
}

/** Alertmanager with the configuration of the document. @returns its address */
async function startAlertmanager(t: TestContext, folder: string, control: string): Promise<string> {
  const [documentedConfig] = documented('yaml');
  const config = parse(documentedConfig?.code ?? '');
  const [webhook] = config.receivers[1].webhook_configs;
  webhook.url = webhook.url.replace('127.0.0.1:9465', control);
  config.route.routes[0].group_interval = '1s';
  writeFileSync(join(folder, 'rdcp.key'), KEYS.alerts);
  writeFileSync(join(folder, 'alertmanager.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const child: Child = await start(
    'prometheus-alertmanager',
    [
      `--config.file=${join(folder, 'alertmanager.yml')}`,
      `--storage.path=${join(folder, 'alertmanager')}`,
      `--web.listen-address=${address}`,
      '--cluster.listen-address=',
    ],
    { cwd: folder },
  );
  t.after(() => child.end());
  await until('Alertmanager to be ready', async () => {
    const ready = await fetch(`http://${address}/-/ready`).catch(() => undefined);
    return ready?.ok;
  });
  return address;
}
