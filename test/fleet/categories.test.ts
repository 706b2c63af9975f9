import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { onRedis } from '../store/on-redis.ts';
import { whyNoRedis } from '../store/redis-server.ts';
import { until } from '../support/until.ts';
import { configOf, type Member, startMember } from '../tail/fleet.ts';
import { isOn, names } from './asking.ts';
import type { PartialConfig } from './partial-member.ts';

describe('processes of a fleet with different categories', { skip: whyNoRedis() }, () => {
  const place = onRedis();

  /** A fleet of a process that is asked, and one that has a category of its own. Starting it takes longer than asking it. */
  async function startPair(t: Parameters<typeof startMember>[0], more: RdcpConfig = {}) {
    place.server.command('FLUSHALL');
    const start = (...has: string[]) => {
      const config: PartialConfig = { ...configOf(place.server.url, { tenancy: false, ...more }), has };
      return startMember(t, config, '../fleet/partial-member.ts');
    };
    const asked = await start('BOTH', 'NET');
    const other = await start('BOTH', 'BETA');
    await until('the categories of the other process are known', () => lists(asked, 'BETA'));
    return { asked, other, start };
  }

  test('a category that another process has is listed, switched, tailed, measured and counted as its own', async (t) => {
    const pair = await startPair(t);
    await t.test('it is listed, switched there and named as not everywhere', () => isListed(pair));
    await t.test('a tail and a forecast ask the processes that have it', () => isRead(pair));
    await t.test('its calls and dropped lines are those of all processes', () => isCounted(pair));
  });

  async function isListed({ asked, other }: Awaited<ReturnType<typeof startPair>>) {
    const { categories } = await asked.client.discovery();
    assert.deepEqual(
      categories.map(({ name, description, otelrdcp_instances: instances }) => [name, description, instances]),
      [
        ['BETA', `of ${other.child.pid}`, { having: 1, of: 2 }],
        ['BOTH', `of ${asked.child.pid}`, undefined],
        ['NET', `of ${asked.child.pid}`, { having: 1, of: 2 }],
      ],
    );
    const { instances } = await asked.client.fleet();
    assert.deepEqual(
      instances.map(({ pid, categories: partial }) => [pid, partial]).sort(),
      [
        [asked.child.pid, ['NET']],
        [other.child.pid, ['BETA']],
      ].sort(),
    );

    const answer = await asked.client.control({ action: 'enable', categories: ['BETA'] });
    assert.equal(answer.status, 'success');
    assert.deepEqual(
      answer.changes.map(({ category, previousState, newState }) => [category, previousState, newState]),
      [['BETA', false, true]],
    );
    assert.equal(await isOn(other, 'BETA'), true);
    const status = await asked.client.status();
    assert.deepEqual(status.categories, { BETA: true, BOTH: false, NET: false });
    assert.deepEqual((await other.client.status()).categories, status.categories);
    const reset = await asked.client.control({ action: 'reset' });
    assert.deepEqual(reset.categories, ['BETA', 'BOTH', 'NET']);
    assert.equal(await isOn(other, 'BETA'), false);
  }

  async function isRead({ asked, other }: Awaited<ReturnType<typeof startPair>>) {
    const { instances, categories } = await asked.client.forecast(['BETA'], { duration: '1s' });
    assert.deepEqual(instances, { asked: 1, answered: 1 });
    assert.ok((categories.BETA?.callsPerSecond.value ?? 0) > 1);

    const ids = new Map((await asked.client.fleet()).instances.map(({ id, pid }) => [id, pid]));
    const joined = new Set<number | undefined>();
    for await (const { event, data } of asked.client.tail(['BETA'], { lines: 60, duration: '30s' })) {
      if (event === 'start') assert.equal(data.instances, 1);
      if (event === 'instance' && data.state === 'joined') joined.add(ids.get(data.id));
      if (event === 'line') assert.equal(data.message, 'called BETA');
    }
    assert.deepEqual([...joined], [other.child.pid]);
  }

  async function isCounted({ asked, other }: Awaited<ReturnType<typeof startPair>>) {
    await asked.client.enable('BETA', { otelrdcp_budget: { callsPerSecond: 1 } });
    const beta = async () => (await asked.client.discovery()).categories[0]!;
    await until('the calls of the other process', async () => (await beta()).metrics.callsTotal > 50);
    assert.ok(((await beta()).otelrdcp_dropped ?? 0) > 20, 'the other process has dropped lines');
    const leaving = new AbortController();
    for await (const { event, data } of asked.client.events({ signal: leaving.signal })) {
      if (event !== 'rates' || !((data.categories.BETA ?? 0) > 20)) continue;
      assert.ok((data.categories.BETA ?? 0) < 80, 'about 50 a second');
      assert.deepEqual(data.instances, { of: 2, counted: 2 });
      break;
    }
    const { otelrdcp_instances: instances, otelrdcp_process: own, performance } = await asked.client.discovery();
    assert.deepEqual(
      [instances, own],
      [
        { of: 2, counted: 2 },
        { totalCalls: 0, callsPerSecond: 0, categories: {} },
      ],
    );
    assert.equal(performance.categoryBreakdown.BETA, performance.totalCalls);
    const ofOther = await other.client.discovery();
    assert.equal(ofOther.otelrdcp_process?.categories.BETA?.callsTotal, ofOther.performance.totalCalls);
    for (const answer of [await asked.client.status(), await asked.client.metrics()]) {
      assert.deepEqual(answer.otelrdcp_instances, { of: 2, counted: 2 });
      const { callsTotal } = 'metrics' in answer ? answer.metrics : {};
      assert.ok(
        (callsTotal?.value ?? (answer as { performance?: { totalCalls: number } }).performance?.totalCalls ?? 0) > 50,
      );
    }
    other.child.kill('SIGKILL');
    await until('it is not counted', async () => (await asked.client.discovery()).otelrdcp_instances?.counted === 1);
    assert.deepEqual((await asked.client.metrics()).metrics.callsTotal?.value, 0, 'of one that is not heard of');
  }

  test('a category that is registered later becomes known, also to watchers, and goes with the last process that has it', async (t) => {
    const { asked, other, start } = await startPair(t);
    const leaving = new AbortController();
    t.after(() => leaving.abort());
    const added: string[] = [];
    const pictures: string[][] = [];
    const reading = (async () => {
      for await (const { event, data } of asked.client.events({ signal: leaving.signal })) {
        if (event === 'category') added.push(data.name);
        if (event === 'snapshot') pictures.push(data.categories.map(({ name }) => name));
      }
    })().catch(() => undefined);
    await until('the first picture', () => pictures[0]?.includes('BETA'));
    assert.equal(await isOn(other, 'LATE'), false);
    await until('the late category is listed', () => lists(asked, 'LATE'));
    await until('the watcher has it', () => added.includes('LATE'));
    const third = await start('LATE');
    await until('two processes have it', async () => (await instancesOf(asked, 'LATE'))?.having === 2);
    other.child.kill('SIGKILL');
    await until('one process has it', async () => (await instancesOf(asked, 'LATE'))?.of === 2);
    assert.deepEqual(await instancesOf(asked, 'LATE'), { having: 1, of: 2 });
    await until('a picture without its other category', () => pictures.at(-1)?.includes('BETA') === false);
    third.child.kill('SIGKILL');
    await until('the category is gone', async () => !(await lists(asked, 'LATE')));
    await assert.rejects(asked.client.control({ action: 'enable', categories: ['LATE'] }), {
      code: 'RDCP_CATEGORY_NOT_FOUND',
      message: /^Unknown category: LATE/,
    });
    assert.deepEqual(Object.keys((await asked.client.status()).categories), ['BOTH', 'NET']);
    await until('the last picture', () => pictures.at(-1)?.join() === 'BOTH,NET');
    leaving.abort();
    await reading;
  });

  test('processes of another namespace keep their categories to themselves', async (t) => {
    const inNamespace = (namespace: string) => ({ tenancy: { isolation: 'namespace', namespace } as const });
    const { asked, start } = await startPair(t, inNamespace('east'));
    const config: PartialConfig = { ...configOf(place.server.url, inNamespace('west')), has: ['WEST'] };
    const west = await startMember(t, config, '../fleet/partial-member.ts');
    await start('EAST');
    await until('the third process is known', () => lists(asked, 'EAST'));
    assert.deepEqual(await names(west), ['WEST']);
    assert.deepEqual(await names(asked), ['BETA', 'BOTH', 'EAST', 'NET']);
  });
});

async function lists(member: Member, name: string): Promise<boolean> {
  return (await names(member)).includes(name);
}

async function instancesOf({ client }: Member, name: string) {
  return (await client.discovery()).categories.find((category) => category.name === name)?.otelrdcp_instances;
}
