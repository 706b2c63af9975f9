// Measures, so nothing runs beside it: how fast lines arrive.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { TailLine } from '../../src/wire/streams.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newStore } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { clientFor, configOf, type Member, startFleet, startMember } from './fleet.ts';

test('events show a process that joins, and since when one that is killed is not heard of: Redis', {
  skip: whyNoRedis(),
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  const [watched, other] = (await startFleet(t, redis.url, 2)) as [Member, Member];
  const events = watched.client.events();
  const { value: snapshot } = await events.next();
  assert.equal(snapshot?.event === 'snapshot' && snapshot.data.fleet?.instances, 2);
  const joined = await startMember(t, configOf(redis.url));
  const all = [watched, other, joined].map(({ child }) => child.pid).sort();
  let killedAt: number | undefined;
  for await (const event of events) {
    if (event.event !== 'fleet' || event.data.instances !== 3) continue;
    const { pending, lastSeen, members = [] } = event.data;
    assert.deepEqual(members.map(({ pid }) => pid).sort(), all);
    if (killedAt === undefined) {
      killedAt = performance.now();
      other.child.kill('SIGKILL');
    } else if (lastSeen !== undefined) {
      const id = members.find(({ pid }) => pid === other.child.pid)?.id;
      assert.deepEqual([pending, Object.keys(lastSeen)], [[id], [id]]);
      break;
    }
  }
  t.diagnostic(`not heard of ${Math.round(performance.now() - (killedAt ?? 0))} ms after kill -9`);
});

const ISOLATIONS: Readonly<
  Record<string, readonly [reached: number, tenancyOf: (at: number) => RdcpConfig['tenancy']]>
> = {
  process: [1, () => ({ isolation: 'process' })],
  namespace: [2, (at) => ({ isolation: 'namespace', namespace: at < 2 ? 'shop' : 'bank' })],
};

for (const [isolation, [reached, tenancyOf]] of Object.entries(ISOLATIONS)) {
  test(`where tenants are isolated by ${isolation} a tail, a forecast and a control reach no process beyond`, async (t) => {
    const store = newStore(t);
    const configs = [0, 1, 2].map((at) => configOf(store, { tenancy: tenancyOf(at) }));
    const members = await Promise.all(configs.map((config) => startMember(t, config)));
    const [within, beyond] = [members.slice(0, reached), members.slice(reached)];
    const enabledIn = (some: readonly Member[]) => Promise.all(some.map((each) => each.enabled()));
    const client = clientFor(members[0]!, { tenantId: 'acme' });
    const lines: TailLine[] = [];
    const pids = () => [...new Set(lines.map(({ attributes }) => attributes.pid))].sort();
    for await (const { event, data } of client.tail('DATABASE', { duration: '1m' })) {
      if (event === 'line') lines.push(data);
      // Longer than it takes to reach another process.
      if (lines.length < 100 || pids().length < reached) continue;
      assert.deepEqual(
        await enabledIn(within),
        within.map(() => true),
      );
      assert.deepEqual(
        await enabledIn(beyond),
        beyond.map(() => false),
        'the others are not tapped',
      );
      break;
    }
    assert.deepEqual(pids(), within.map(({ child }) => child.pid).sort());
    assert.deepEqual([...new Set(lines.map(({ tenant }) => tenant))], ['acme']);
    const { instances } = await client.forecast('DATABASE', { duration: 1 });
    assert.deepEqual(instances, { asked: reached, answered: reached });
    await client.enable('DATABASE', { duration: '1m' });
    await until('it is on in each that it reaches', async () => !(await enabledIn(within)).includes(false));
    assert.deepEqual(
      await enabledIn(beyond),
      beyond.map(() => false),
      'what is switched for a tenant reaches no further',
    );
  });
}
