// Measures, so nothing runs beside it: how fast answers come while Redis fails.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { soon } from '../store/follower.ts';
import { checkOf, enable, eventually, trailOf } from './processes.ts';
import { answered, followsARestart, whereRedisFails } from './redis-faults.ts';

/** Processes of the fleet; 20 is the figure to reach, each costs a start. */
const PROCESSES = Number(process.env.RDCP_FLEET_PROCESSES ?? 4);

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
});
