// Measures, so nothing runs beside it: how fast lines arrive.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TailLine } from '../../src/wire/streams.ts';
import { makeKey } from '../auth/records.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newStore } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { clientFor, configOf, type Member, off, startFleet, startMember } from './fleet.ts';

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

test('where tenants are isolated by process a tail and a forecast are of the process that serves them', async (t) => {
  const config = configOf(newStore(t), { tenancy: { isolation: 'process' } });
  const [first, second] = await Promise.all([startMember(t, config), startMember(t, config)]);
  const client = clientFor(first, { tenantId: 'acme' });
  const tail = client.tail('DATABASE', { duration: '1m' });
  const lines: TailLine[] = [];
  for await (const event of tail) {
    if (event.event === 'start') assert.equal(event.data.instances, 1);
    if (event.event === 'line') lines.push(event.data);
    // Longer than it takes to reach another process.
    if (lines.length < 100) continue;
    assert.equal(await first.enabled(), true);
    assert.equal(await second.enabled(), false, 'the other process is not tapped');
    break;
  }
  assert.deepEqual([...new Set(lines.map(({ attributes }) => attributes.pid))], [first.child.pid]);
  assert.deepEqual([...new Set(lines.map(({ tenant }) => tenant))], ['acme']);
  const { instances } = await client.forecast('DATABASE', { duration: 1 });
  assert.deepEqual(instances, { asked: 1, answered: 1 });
  // What is switched for a tenant reaches no further.
  await client.enable('DATABASE', { duration: '1m' });
  assert.deepEqual([await first.enabled(), await second.enabled()], [true, false]);
});

test('where tenants are isolated by namespace a tail reaches the processes of that namespace alone', async (t) => {
  const store = newStore(t);
  const of = (namespace: string) => configOf(store, { tenancy: { isolation: 'namespace', namespace } });
  const members = await Promise.all(['shop', 'shop', 'bank'].map((namespace) => startMember(t, of(namespace))));
  const [serving, neighbour, foreign] = members as [Member, Member, Member];
  await until('two processes', async () => ((await serving.client.status()).otelrdcp_fleet?.instances ?? 0) >= 2);
  assert.equal((await serving.client.status()).otelrdcp_fleet?.instances, 2);
  const client = clientFor(serving, { tenantId: 'acme' });
  const tail = client.tail('DATABASE', { duration: '1m' });
  const pids = new Set<unknown>();
  let lines = 0;
  for await (const event of tail) {
    if (event.event !== 'line') continue;
    lines += 1;
    pids.add(event.data.attributes.pid);
    assert.equal(event.data.tenant, 'acme');
    if (lines < 200 || pids.size < 2) continue;
    assert.equal(await foreign.enabled(), false, 'the other namespace is not tapped');
    break;
  }
  assert.deepEqual([...pids].sort(), [serving.child.pid, neighbour.child.pid].sort());
  const { instances } = await client.forecast('DATABASE', { duration: 1 });
  assert.deepEqual(instances, { asked: 2, answered: 2 });
  await client.enable('DATABASE', { duration: '1m' });
  await until('the neighbour has followed', () => neighbour.enabled());
  assert.equal(await foreign.enabled(), false);
});

test('forecasts of several identities at once are each answered in full, and none measures for another', async (t) => {
  const keys = {
    ann: makeKey({ id: 'ann', clientId: 'ann', scopes: ['admin'] }),
    bob: makeKey({ id: 'bob', clientId: 'bob', scopes: ['control', 'discovery', 'admin'] }),
    acme: makeKey({ id: 'acme', clientId: 'acme', scopes: ['control'], tenantId: 'acme' }),
    beta: makeKey({ id: 'beta', clientId: 'beta', scopes: ['control'], tenantId: 'beta' }),
  };
  const test = (configOf('memory:').security as { apiKeys: object[] }).apiKeys;
  const apiKeys = [...test, ...Object.values(keys).map(({ record }) => record)] as never[];
  const fleet = await startFleet(t, newStore(t), 2, { security: { apiKeys } });
  const names = Object.keys(keys) as (keyof typeof keys)[];
  // Each of them twice, by each of the processes.
  const answers = await Promise.all(
    names.flatMap((name) =>
      fleet.map(async (member, index) => {
        const client = clientFor(member, { apiKey: keys[name].key });
        return { name, answer: await client.forecast('DATABASE', { duration: 2 + index }) };
      }),
    ),
  );
  assert.equal(answers.length, 8);
  const rate = (name: string) => {
    const own = answers.filter((each) => each.name === name);
    return own.map(({ answer }) => answer.categories.DATABASE?.callsPerSecond.value ?? 0);
  };
  for (const { name, answer } of answers) assert.deepEqual(answer.instances, { asked: 2, answered: 2 }, name);
  for (const both of [...rate('ann'), ...rate('bob')]) {
    for (const one of [...rate('acme'), ...rate('beta')]) {
      assert.ok(one > 0 && both / one > 1.4 && both / one < 2.8, `${both} of both tenants, ${one} of one`);
    }
  }
  // None leaves anything behind.
  await off(fleet, 10_000);
  const { entries } = await fleet[0]!.client.audit({ action: 'forecast' });
  assert.deepEqual(
    names.map((name) => entries.filter(({ identity }) => identity.clientId === name).length),
    [2, 2, 2, 2],
  );
});
