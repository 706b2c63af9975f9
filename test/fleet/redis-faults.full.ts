// Measures, so nothing runs beside it: how fast answers come while Redis fails.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertLinked } from '../audit/entries.ts';
import { soon } from '../store/follower.ts';
import { startProxy } from '../store/proxy.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { checkOf, enable, eventually, fleetOf, type MemberProcess, startMember, toggle, trailOf } from './processes.ts';
import { answered, followsARestart, whereRedisFails } from './redis-faults.ts';

/** Processes of the fleet; 20 is the figure to reach, each costs a start. */
const PROCESSES = Number(process.env.RDCP_FLEET_PROCESSES ?? 4);
/** Changes that each process makes while things break. */
const TOGGLES = Number(process.env.RDCP_FLEET_TOGGLES ?? 12);

whereRedisFails(PROCESSES, (fleet) => {
  const { redis, processes, first, whole, everywhere } = fleet;
  followsARestart(fleet);

  const losses = async () => (await trailOf(first())).filter(({ action }) => action === 'state_reset');

  /** By one of all processes in the trail, and by each of them to health, until something is changed. */
  async function lossIsTold(count: number, reason: string): Promise<void> {
    await eventually('every process to tell of the loss', async () => {
      const checks = await Promise.all(processes().map((process) => checkOf(process, 'store')));
      return checks.every((check) => check === 'warn');
    });
    const told = await losses();
    assert.equal(told.length, count);
    assert.equal(told.at(-1)?.reason, reason);
    assert.deepEqual(told.at(-1)?.categories, ['DATABASE']);
    await answered(() => first().control(enable('HTTP')));
    await eventually('every process to be well', async () => {
      const checks = await Promise.all(processes().map((process) => checkOf(process, 'store')));
      return checks.every((check) => check === 'pass');
    });
  }

  test('stopped for three seconds: all are together again', async (t) => {
    await answered(() => first().control(enable('DATABASE')));
    redis().freeze();
    await soon(
      first()
        .control(enable('HTTP'))
        .then(({ status }) => assert.equal(status, 503)),
    );
    await sleep(2_000);
    redis().thaw();
    await answered(() => first().control(enable('HTTP')));
    const back = await everywhere(true, 'HTTP');
    t.diagnostic(`all follow after ${Math.round(back)} ms`);
    await whole();
  });

  test('started again empty: no process keeps lost state', async (t) => {
    await answered(() => first().control(enable('DATABASE')));
    await everywhere(true);
    await redis().kill();
    redis().wipe();
    await redis().start();
    const back = await everywhere(false);
    t.diagnostic(`forgotten everywhere after ${Math.round(back)} ms`);
    await whole();
    await lossIsTold(1, 'the store came back empty');
  });

  test('emptied under open connections: no process keeps lost state or counts as gone', async () => {
    await answered(() => first().control(enable('DATABASE')));
    redis().command('FLUSHALL');
    const { body } = await answered(() => first().control(enable('HTTP')));
    assert.equal(body.otelrdcp_fleet?.instances, PROCESSES);
    await everywhere(false);
    await everywhere(true, 'HTTP');
    await whole();
  });

  test('started again with old data: the old state holds everywhere', async (t) => {
    await answered(() => first().control(enable('DATABASE')));
    redis().save();
    const told = (await losses()).length;
    await answered(() => first().control({ action: 'disable', categories: ['DATABASE'] }));
    await everywhere(false);
    await redis().kill();
    await redis().start();
    const back = await everywhere(true);
    t.diagnostic(`the old state everywhere after ${Math.round(back)} ms`);
    await whole();
    await lossIsTold(told + 1, 'the store came back with an older state');
  });

  test('messages that are lost, again and again, delay a change and lose none', async () => {
    let cut = 0;
    const cutting = setInterval(() => {
      cut += Number(redis().command('CLIENT', 'KILL', 'TYPE', 'pubsub'));
    }, 10);
    try {
      for (const on of [true, false, true]) {
        await answered(() => first().control({ action: on ? 'enable' : 'disable', categories: ['DATABASE'] }));
        await everywhere(on);
      }
    } finally {
      clearInterval(cutting);
    }
    assert.ok(cut >= PROCESSES, `${cut} subscriptions cut`);
    await whole();
  });

  test(`${PROCESSES * TOGGLES} changes made at once while connections break and processes freeze: none is lost, none is doubled`, async (t) => {
    const before = (await trailOf(first())).length;
    let broken = 0;
    const breaking = setInterval(() => {
      broken += Number(
        redis().command('CLIENT', 'KILL', 'TYPE', broken % 3 === 0 ? 'pubsub' : 'normal', 'SKIPME', 'yes'),
      );
    }, 100);
    const freezing = setInterval(() => {
      const victim = processes()[Math.floor(Math.random() * processes().length)] as MemberProcess;
      victim.signal('SIGSTOP');
      setTimeout(() => victim.signal('SIGCONT'), 150);
    }, 400);
    const revisions = new Map<string, number>();
    try {
      await Promise.all(
        processes().map(async (process) => {
          for (let done = 0; done < TOGGLES; done += 1) {
            const requestId = randomUUID();
            const { body, replayed } = await answered(() => process.control(toggle('DATABASE'), requestId));
            if (!replayed && body.otelrdcp_fleet !== undefined) revisions.set(requestId, body.otelrdcp_fleet.revision);
          }
        }),
      );
    } finally {
      clearInterval(breaking);
      clearInterval(freezing);
    }
    assert.ok(broken > 0, 'connections were broken');
    // The last process that was frozen runs again after 150 ms.
    await sleep(200);
    await whole();

    // What lies before was lost in part by the tests above, as the trail shows.
    const trail = (await trailOf(first())).slice(before);
    assertLinked(trail);
    const toggles = trail.filter(({ action }) => action === 'toggle');
    assert.equal(toggles.length, PROCESSES * TOGGLES);
    assert.equal(new Set(toggles.map(({ requestId }) => requestId)).size, toggles.length);
    let state = false;
    let newest = 0;
    for (const { changes, requestId } of toggles) {
      assert.deepEqual(
        [changes[0]?.previousState, changes[0]?.newState],
        [state, !state],
        'each follows the one before it',
      );
      state = !state;
      const revision = revisions.get(requestId ?? '');
      if (revision === undefined) continue;
      assert.ok(revision > newest, `revision ${revision} after ${newest}`);
      newest = revision;
    }
    assert.ok(revisions.size > 0);
    await everywhere(state);
    t.diagnostic(`${toggles.length} changes, ${revisions.size} revisions told, ${broken} connections broken`);
  });
});

test('a temporary control ends on time in every process, also in one that is cut off, and is recorded once', {
  skip: whyNoRedis(),
}, async (t) => {
  const redis = await startRedis();
  const proxy = await startProxy(redis.port);
  const near = await Promise.all([startMember({ store: redis.url }), startMember({ store: redis.url })]);
  const cutOff = await startMember({ store: redis.url.replace(/\d+$/, String(proxy.port)) });
  t.after(async () => {
    await Promise.all([...near, cutOff].map((process) => process.kill()));
    await proxy.close();
    await redis.close();
  });
  const [a] = near;
  await eventually('all three', async () => (await fleetOf(a))?.applied === 3);
  const { body } = await a.control({ ...enable('DATABASE'), options: { duration: '5s' } });
  assert.equal(body.status, 'success', JSON.stringify(body));
  await proxy.cut();
  assert.equal(await cutOff.enabled(), true);
  const end = Date.parse(body.changes[0]?.expiresAt ?? '');
  for (const process of [...near, cutOff]) {
    await eventually('the end', async () => !(await process.enabled()));
    const late = Date.now() - end;
    assert.ok(late > -50 && late < 1_000, `${late} ms after its end`);
  }
  await proxy.mend();
  await eventually('all three together again', async () => (await fleetOf(a))?.applied === 3);
  // A second entry would come from the process that was cut off, once it is back.
  await sleep(500);
  const expiries = (await trailOf(a)).filter(({ action }) => action === 'expire');
  assert.equal(expiries.length, 1);
});
