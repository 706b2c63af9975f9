// Measures, so nothing runs beside it: how fast lines arrive.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LEASE_MS } from '../../src/calls/tail/relay.ts';
import type { TailEvent, TailLine } from '../../src/wire/streams.ts';
import { makeKey } from '../auth/records.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { clientFor, configOf, type Member, off, startFleet, startMember } from './fleet.ts';

function file(t: TestContext): string {
  const folder = newFolder(t);
  return `sqlite:${join(folder, 'state.sqlite')}`;
}

/** Stops a process as the machine does when it swaps, and lets it end with the test all the same. */
function stopProcess(t: TestContext, { child }: Member): () => void {
  child.kill('SIGSTOP');
  const run = () => void child.kill('SIGCONT');
  t.after(run);
  return run;
}

async function idOf(member: Member): Promise<string> {
  const { instances } = await member.client.fleet();
  return instances.find(({ pid }) => pid === member.child.pid)?.id ?? assert.fail('not in its fleet');
}

/** Reads lines until there are so many. */
async function linesOf(tail: AsyncGenerator<TailEvent>, most: number): Promise<readonly TailLine[]> {
  const lines: TailLine[] = [];
  for await (const event of tail) {
    if (event.event === 'line') lines.push(event.data);
    if (lines.length === most) break;
  }
  return lines;
}

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

test('tails of two tenants at once, served by two processes, see each its own of every process', async (t) => {
  const fleet = await startFleet(t, file(t), 3);
  const read = (member: Member, tenantId: string) =>
    linesOf(clientFor(member, { tenantId }).tail('DATABASE', { duration: '2m' }), 150);
  const [acme, beta] = await Promise.all([read(fleet[0]!, 'acme'), read(fleet[1]!, 'beta')]);
  for (const [tenant, lines] of [
    ['acme', acme],
    ['beta', beta],
  ] as const) {
    assert.deepEqual([...new Set(lines.map((line) => line.tenant))], [tenant]);
    assert.deepEqual([...new Set(lines.map(({ message }) => message))], [`${tenant}'s query`]);
    assert.equal(new Set(lines.map(({ instance }) => instance)).size, 3, 'of every process');
  }
  await off(fleet, 10_000);
});

test('where tenants are isolated by process a tail and a forecast are of the process that serves them', async (t) => {
  const config = configOf(file(t), { tenancy: { isolation: 'process' } });
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
  const store = file(t);
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
  const fleet = await startFleet(t, file(t), 2, { security: { apiKeys } });
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

test('a forecast says that a stopped process has not answered, and is in time all the same', async (t) => {
  const fleet = await startFleet(t, file(t), 3);
  const [serving, stopped] = fleet as [Member, Member, Member];
  const forecasting = serving.client.forecast('DATABASE', { duration: 2 });
  const run = stopProcess(t, stopped);
  const began = performance.now();
  const answer = await forecasting;
  const took = performance.now() - began;
  assert.deepEqual(answer.instances, { asked: 3, answered: 2 });
  assert.ok((answer.categories.DATABASE?.callsPerSecond.value ?? 0) > 0);
  // Two seconds, and one more for who is late: a process that never answers does not make it wait for ever.
  assert.ok(took < 30_000, `${took} ms`);
  t.diagnostic(`answered after ${Math.round(took)} ms`);
  run();
  await off(fleet, 20_000);
  await until('three processes', async () => (await serving.client.fleet()).instances.length >= 3);
  assert.deepEqual((await serving.client.forecast('DATABASE', { duration: 1 })).instances, { asked: 3, answered: 3 });
});

test('a tail says that a stopped process has left, goes on with the others, and has it again later', async (t) => {
  const fleet = await startFleet(t, file(t), 3);
  const [serving, stopped] = fleet as [Member, Member, Member];
  const id = await idOf(stopped);
  let run: (() => void) | undefined;
  let stage: 'all' | 'stopped' | 'left' | 'back' = 'all';
  const from = new Set<string>();
  let whileStopped = 0;
  for await (const event of serving.client.tail('DATABASE', { duration: '5m' })) {
    if (event.event === 'line') {
      from.add(event.data.instance);
      if (stage === 'all' && from.size === 3) {
        run = stopProcess(t, stopped);
        stage = 'stopped';
      } else if (stage === 'left') {
        assert.notEqual(event.data.instance, id, 'nothing comes from a process that has left');
        whileStopped += 1;
        if (whileStopped === 50) run?.();
      } else if (stage === 'back' && event.data.instance === id) break;
    }
    if (event.event !== 'instance' || event.data.id !== id) continue;
    if (stage === 'stopped' && event.data.state === 'left') stage = 'left';
    else if (whileStopped >= 50 && event.data.state === 'joined') stage = 'back';
  }
  assert.equal(stage, 'back');
  await off(fleet, 20_000);
});

test('a process that was stopped while a tail ended is tapped no more as soon as it runs again', async (t) => {
  const fleet = await startFleet(t, file(t), 2);
  const [serving, stopped] = fleet as [Member, Member];
  const tail = serving.client.tail('DATABASE', { duration: '5m' });
  const from = new Set<string>();
  let run = () => {};
  for await (const event of tail) {
    if (event.event === 'line') from.add(event.data.instance);
    if (from.size < 2) continue;
    run = stopProcess(t, stopped);
    break;
  }
  await off([serving], 10_000);
  // The lease itself: the others see nothing of it.
  await sleep(LEASE_MS);
  run();
  const ms = await off(fleet, 20_000);
  t.diagnostic(`not tapped ${Math.round(ms)} ms after it ran again`);
});
