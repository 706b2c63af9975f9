import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { onRedis } from '../store/on-redis.ts';
import { whyNoRedis } from '../store/redis-server.ts';
import { atMost } from '../support/at-most.ts';
import { until } from '../support/until.ts';
import { type Member, startFleet } from '../tail/fleet.ts';

describe('a category for some processes of a fleet of eight', { skip: whyNoRedis() }, () => {
  const place = onRedis();

  test('is on in the chosen one alone; when that is killed, the next takes its place within five seconds', async (t) => {
    const members = await startFleet(t, place.server.url, 8, { tenancy: false });
    const [asked] = members as [Member];
    const on = async (among: readonly Member[]) => {
      const states = await Promise.all(among.map((member) => member.enabled()));
      return among.filter((_, index) => states[index]);
    };
    const enable = (instances: object) =>
      asked.client.control({ action: 'enable', categories: ['DATABASE'], options: { otelrdcp_target: { instances } } });
    const chosenAre = async (number: number, among = members) => {
      await until(`${number} processes to have it on`, async () => (await on(among)).length === number);
      return on(among);
    };
    const end = async () => {
      await asked.client.control({ action: 'reset', categories: ['DATABASE'] });
      await chosenAre(0);
    };

    // A quarter, and those with a version that no process has.
    const quarter = await enable({ percent: 25 });
    assert.deepEqual([quarter.status, quarter.otelrdcp_fleet?.instances], ['success', 2]);
    await chosenAre(2);
    await end();
    const none = await enable({ version: 'none' });
    assert.deepEqual([none.status, none.otelrdcp_fleet?.instances], ['partial', 0]);
    await end();
    // By name, and still in the fleet's words.
    const named = members[5]!;
    const { instances: fleet } = await asked.client.fleet();
    const { host, pid } = fleet.find((each) => each.pid === named.child.pid)!;
    await enable({ ids: [`${host}:${pid}`] });
    assert.deepEqual(await chosenAre(1), [named]);
    await end();

    const one = await enable({ count: 1 });
    assert.deepEqual([one.status, one.otelrdcp_fleet?.instances, one.otelrdcp_fleet?.applied], ['success', 1, 1]);
    const [chosen] = (await chosenAre(1)) as [Member];
    const others = members.filter((member) => member !== chosen);
    assert.deepEqual(await on(others), [], 'no interest in the others');
    const killedAt = performance.now();
    const exited = once(chosen.child, 'exit');
    chosen.child.kill('SIGKILL');
    await exited;
    const [next] = (await chosenAre(1, others)) as [Member];
    const took = performance.now() - killedAt;
    t.diagnostic(`the next process took its place after ${Math.round(took)} ms`);
    assert.ok(took < atMost(5000), `${took} ms`);
    assert.equal((await on(others.filter((member) => member !== next))).length, 0);
  });

  test('is tailed and forecast in as many processes as were asked for', async (t) => {
    const members = await startFleet(t, place.server.url, 3, { tenancy: false });
    const [asked] = members as [Member];
    const fleet = async () => (await asked.client.fleet()).instances.length;
    await until('those of the test before to be gone', async () => (await fleet()) === 3);
    const forecast = await asked.client.forecast(['DATABASE'], { duration: 1, target: { instances: { count: 2 } } });
    assert.deepEqual(forecast.instances, { asked: 2, answered: 2 });
    const from = new Set<string>();
    let lines = 0;
    for await (const { event, data } of asked.client.tail(['DATABASE'], { target: { instances: { count: 1 } } })) {
      if (event === 'start') assert.equal(data.instances, 1);
      if (event !== 'line') continue;
      from.add(data.instance);
      lines += 1;
      if (lines === 50) break;
    }
    assert.equal(from.size, 1);
  });
});
