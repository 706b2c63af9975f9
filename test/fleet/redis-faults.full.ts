// Measures, so nothing runs beside it: how fast answers come while Redis fails.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inWords } from '../audit/entries.ts';
import { CONVERGED_MS, soon } from '../store/follower.ts';
import { type RedisServer, startRedis, whyNoRedis } from '../store/redis-server.ts';
import {
  type Answered,
  checkOf,
  enable,
  eventually,
  fleetOf,
  type MemberProcess,
  shows,
  startMember,
  together,
  trailOf,
} from './processes.ts';

/** Processes of the fleet; 20 is the figure to reach, each costs a start. */
const PROCESSES = Number(process.env.RDCP_FLEET_PROCESSES ?? 4);

/** Repeats a request until it is answered for good. */
async function answered<T extends Answered<unknown>>(ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer?.status === 200) return answer;
    if (performance.now() > deadline) throw new Error(`never answered: ${JSON.stringify(answer)}`);
    await sleep(20);
  }
}

describe(`a fleet of ${PROCESSES} processes whose Redis fails`, { skip: whyNoRedis() }, () => {
  let redis: RedisServer;
  let processes: MemberProcess[];
  const first = () => processes[0] as MemberProcess;
  const whole = () => together(first(), PROCESSES, 10_000);
  const everywhere = (on: boolean, name = 'DATABASE') => shows(processes, on, name, CONVERGED_MS);

  before(async () => {
    redis = await startRedis();
    processes = [];
    // Four at a time: a start costs a processor most of a second.
    for (let left = PROCESSES; left > 0; left -= 4) {
      const group = Array.from({ length: Math.min(4, left) }, () => startMember({ store: redis.url }));
      processes.push(...(await Promise.all(group)));
    }
  });
  after(async () => {
    await Promise.all(processes.map((process) => process.kill()));
    await redis.close();
  });
  // Each test begins together and with everything off.
  beforeEach(async () => {
    await whole();
    await answered(() => first().control({ action: 'reset' }));
    await everywhere(false);
  });
  afterEach(() => redis.thaw());

  /** What an operator meets while Redis is away: a change for good is refused, one for a while holds in one process. */
  async function manageAlone(): Promise<void> {
    assert.equal((await soon(first().control(enable('HTTP')))).status, 503);
    const { body } = await soon(first().control({ ...enable('QUEUE'), options: { duration: '1h' } }));
    assert.deepEqual([body.status, body.otelrdcp_fleet], ['partial', undefined]);
    assert.equal(await first().enabled('QUEUE'), true);
    assert.equal(await soon(fleetOf(first())), undefined);
    assert.equal(await checkOf(first(), 'fleet'), 'warn');
  }

  test('killed and started again with its data: all are together again, and what held stays', async (t) => {
    await answered(() => first().control(enable('DATABASE')));
    redis.save();
    await redis.kill();
    await manageAlone();
    await redis.start();
    const back = await whole();
    assert.ok(back < CONVERGED_MS, `together after ${Math.round(back)} ms`);
    t.diagnostic(`together after ${Math.round(back)} ms`);
    await everywhere(true, 'QUEUE');
    const told = (await trailOf(first())).filter(({ categories }) => categories.includes('QUEUE'));
    const shared = 'reconcile: set in one process while the store could not be reached';
    assert.deepEqual(inWords(told.slice(-2)), ['enable partial', shared]);
    await answered(() => first().control(enable('HTTP')));
    await everywhere(true, 'HTTP');
    assert.ok(await first().enabled('DATABASE'));
  });

  const losses = async () => (await trailOf(first())).filter(({ action }) => action === 'state_reset');

  /** By one of all processes in the trail, and by each of them to health, until something is changed. */
  async function lossIsTold(count: number, reason: string): Promise<void> {
    await eventually('every process to tell of the loss', async () => {
      const checks = await Promise.all(processes.map((process) => checkOf(process, 'store')));
      return checks.every((check) => check === 'warn');
    });
    const told = await losses();
    assert.equal(told.length, count);
    assert.equal(told.at(-1)?.reason, reason);
    assert.deepEqual(told.at(-1)?.categories, ['DATABASE']);
    await answered(() => first().control(enable('HTTP')));
    await eventually('every process to be well', async () => {
      const checks = await Promise.all(processes.map((process) => checkOf(process, 'store')));
      return checks.every((check) => check === 'pass');
    });
  }

  test('stopped for three seconds: all are together again', async (t) => {
    await answered(() => first().control(enable('DATABASE')));
    redis.freeze();
    await soon(
      first()
        .control(enable('HTTP'))
        .then(({ status }) => assert.equal(status, 503)),
    );
    await sleep(2_000);
    redis.thaw();
    await answered(() => first().control(enable('HTTP')));
    const back = await everywhere(true, 'HTTP');
    t.diagnostic(`all follow after ${Math.round(back)} ms`);
    await whole();
  });

  test('started again empty: no process keeps lost state', async (t) => {
    await answered(() => first().control(enable('DATABASE')));
    await everywhere(true);
    await redis.kill();
    redis.wipe();
    await redis.start();
    const back = await everywhere(false);
    t.diagnostic(`forgotten everywhere after ${Math.round(back)} ms`);
    await whole();
    await lossIsTold(1, 'the store came back empty');
  });

  test('started again with old data: the old state holds everywhere', async (t) => {
    await answered(() => first().control(enable('DATABASE')));
    redis.save();
    const told = (await losses()).length;
    await answered(() => first().control({ action: 'disable', categories: ['DATABASE'] }));
    await everywhere(false);
    await redis.kill();
    await redis.start();
    const back = await everywhere(true);
    t.diagnostic(`the old state everywhere after ${Math.round(back)} ms`);
    await whole();
    await lossIsTold(told + 1, 'the store came back with an older state');
  });

  test('messages that are lost, again and again, delay a change and lose none', async () => {
    let cut = 0;
    const cutting = setInterval(() => {
      cut += Number(redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub'));
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
