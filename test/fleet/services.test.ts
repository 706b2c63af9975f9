import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test';
import { commandWith } from '../cli/many-services.ts';
import { type RedisServer, startRedis, whyNoRedis } from '../store/redis-server.ts';
import { until } from '../support/until.ts';
import { configOf, KEY, type Member, startMember } from '../tail/fleet.ts';
import { isOn, names } from './asking.ts';
import type { PartialConfig } from './partial-member.ts';

describe('two services on one Redis', { skip: whyNoRedis() }, () => {
  let redis: RedisServer;
  before(async () => {
    redis = await startRedis();
  });
  beforeEach(() => void redis.command('FLUSHALL'));
  after(() => redis.close());

  /** Starts a process of a service that has the category BOTH and one of its own. */
  function start(t: TestContext, service: string, { url = redis.url, prefix }: { url?: string; prefix?: string } = {}) {
    const config: PartialConfig = {
      // A machine that is busy with other tests may need more than a second for a change.
      ...configOf(url, { tenancy: false, fleet: { acknowledgeTimeoutSeconds: 10 } }),
      has: ['BOTH', service.toUpperCase()],
      ...(prefix !== undefined && { prefix }),
    };
    return startMember(t, config, '../fleet/partial-member.ts', {
      OTEL_RESOURCE_ATTRIBUTES: `service.name=${service}`,
    });
  }

  test('are one fleet: each lists and switches the categories of the other', async (t) => {
    const [shop, billing] = await Promise.all([start(t, 'shop'), start(t, 'billing')]);
    await until('both are known', async () => (await names(shop)).length === 3);
    const { instances } = await shop.client.fleet();
    assert.deepEqual(instances.map(({ service, pid }) => [service, pid]).sort(), [
      ['billing', billing.child.pid],
      ['shop', shop.child.pid],
    ]);
    assert.deepEqual(await names(shop), ['BILLING', 'BOTH', 'SHOP']);

    const answer = await shop.client.control({ action: 'enable', categories: ['BOTH', 'BILLING'] });
    assert.deepEqual([answer.status, answer.otelrdcp_fleet?.applied], ['success', 2]);
    assert.deepEqual([await isOn(shop, 'BOTH'), await isOn(billing, 'BOTH')], [true, true]);
    assert.equal(await isOn(billing, 'BILLING'), true);
    const { entries } = await billing.client.audit();
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['enable'],
      'one audit trail',
    );
    await until('the last minutes of one have the calls of the other', async () => {
      for await (const { event, data } of shop.client.events()) {
        if (event === 'rates') return data.history !== undefined && 'BILLING' in data.history.categories;
      }
      return false;
    });
  });

  test('are told apart by the command: rows once, processes by their service, the chosen process by name', async (t) => {
    const [shop, billing] = await Promise.all([start(t, 'shop'), start(t, 'billing')]);
    await until('both are known', async () => (await names(shop)).length === 3 && (await names(billing)).length === 3);
    const profile = ({ url }: Member) => ({ url, apiKey: KEY });
    const { run } = commandWith(t, { shop: profile(shop), billing: profile(billing) });

    const listed = await run(['list', '-s', 'shop,billing']);
    assert.deepEqual(
      listed.stdout.split('\n').flatMap((row) => /^(?:shop|billing).*?(?= {2,}off)/.exec(row)?.[0] ?? []),
      ['BILLING', 'BOTH', 'SHOP'].map((name) => `shop, billing  ${name}`),
    );
    for (const member of [shop, billing]) {
      const { otelrdcp_console: page } = await member.client.session();
      assert.equal(page?.service, member === shop ? 'shop' : 'billing');
    }

    const enabled = await run(['enable', 'BOTH', '--one', '--url', shop.url], { env: { RDCP_API_KEY: KEY } });
    const [, pid] = /^chosen: \S+:(\d+)$/m.exec(enabled.stdout) ?? [];
    assert.ok(
      [shop, billing].some(({ child }) => child.pid === Number(pid)),
      enabled.stdout,
    );
    const forecast = await run(['forecast', 'BOTH', '--one', '--for', '1s', '--url', shop.url], {
      env: { RDCP_API_KEY: KEY },
    });
    assert.match(forecast.stdout, /^measured for 1s in 1 of 1 process\nchosen: \S+:\d+$/m);
    const tailed = await run(['tail', 'BOTH', '--one', '--lines', '1', '--url', shop.url], {
      env: { RDCP_API_KEY: KEY },
    });
    assert.match(tailed.stderr, /^Chosen: \S+:\d+\.$/m);

    const stop = new AbortController();
    let noted = '';
    let late: Promise<Member> | undefined;
    await run(['tail', 'BOTH', '-s', 'shop,billing', '--for', '1m'], {
      interrupted: stop.signal,
      noted: (text) => {
        noted += text;
        if (/All 2 processes take part[\s\S]*All 2 processes take part/.test(noted)) late ??= start(t, 'billing');
        if (noted.includes(' joined.')) setImmediate(() => stop.abort());
      },
    });
    const { child } = await late!;
    const joined = noted.split('\n').filter((line) => line.endsWith(' joined.'));
    assert.deepEqual(joined, [`billing: Process ${hostname()}:${child.pid} joined.`]);
  });

  const SEPARATED = {
    'a prefix each': (service: string) => ({ prefix: `${service}:` }),
    'a database each': (service: string) => ({ url: `${redis.url}/${service === 'shop' ? 1 : 2}` }),
  };
  for (const [how, storeOf] of Object.entries(SEPARATED)) {
    test(`are two fleets with ${how}`, async (t) => {
      const [shop, billing, second] = (await Promise.all(
        ['shop', 'billing', 'shop'].map((service) => start(t, service, storeOf(service))),
      )) as [Member, Member, Member];
      await until('the processes of one service are one fleet', async () => (await pids(shop)).length === 2);
      assert.deepEqual(await pids(shop), [shop.child.pid, second.child.pid].sort());
      assert.deepEqual(await pids(billing), [billing.child.pid]);
      assert.deepEqual(
        [await names(shop), await names(billing)],
        [
          ['BOTH', 'SHOP'],
          ['BILLING', 'BOTH'],
        ],
      );

      const answer = await shop.client.control({ action: 'enable', categories: ['BOTH'] });
      assert.equal(answer.otelrdcp_fleet?.applied, 2);
      assert.equal(await isOn(second, 'BOTH'), true);
      // It follows a change of its own, so by then it would have followed the other one.
      await billing.client.control({ action: 'enable', categories: ['BILLING'] });
      assert.deepEqual([await isOn(billing, 'BILLING'), await isOn(billing, 'BOTH')], [true, false]);
      const { entries } = await billing.client.audit();
      assert.deepEqual(
        entries.map(({ categories }) => categories),
        [['BILLING']],
      );
      await assert.rejects(billing.client.control({ action: 'enable', categories: ['SHOP'] }), {
        code: 'RDCP_CATEGORY_NOT_FOUND',
      });
    });
  }
});

async function pids({ client }: Member): Promise<number[]> {
  return (await client.fleet()).instances.map(({ pid }) => pid).sort();
}
