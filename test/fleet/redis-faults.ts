import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CONVERGED_MS, soon } from '../store/follower.ts';
import { type RedisServer, startRedis, whyNoRedis } from '../store/redis-server.ts';
import {
  type Answered,
  checkOf,
  enable,
  fleetOf,
  type MemberProcess,
  shows,
  startMember,
  together,
  trailOf,
} from './processes.ts';

/** A fleet on a Redis of its own, which tests break. */
export interface FailingFleet {
  readonly redis: () => RedisServer;
  readonly processes: () => readonly MemberProcess[];
  readonly first: () => MemberProcess;
  /** Waits until all are together; how long that took. */
  readonly whole: () => Promise<number>;
  /** Waits until every gate says so; how long that took. */
  readonly everywhere: (on: boolean, name?: string) => Promise<number>;
}

/** Repeats a request until it is answered for good. */
export async function answered<T extends Answered<unknown>>(ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer?.status === 200) return answer;
    if (performance.now() > deadline) throw new Error(`never answered: ${JSON.stringify(answer)}`);
    await sleep(20);
  }
}

/** Runs cases with such a fleet, which begins each of them together and with everything off. */
export function whereRedisFails(count: number, cases: (fleet: FailingFleet) => void): void {
  describe(`a fleet of ${count} processes whose Redis fails`, { skip: whyNoRedis() }, () => {
    let redis: RedisServer;
    let processes: MemberProcess[];
    const first = () => processes[0] as MemberProcess;
    const whole = () => together(first(), count, 10_000);
    const everywhere = (on: boolean, name = 'DATABASE') => shows(processes, on, name, CONVERGED_MS);

    before(async () => {
      redis = await startRedis();
      processes = [];
      // Four at a time: a start costs a processor most of a second.
      for (let left = count; left > 0; left -= 4) {
        const group = Array.from({ length: Math.min(4, left) }, () => startMember({ store: redis.url }));
        processes.push(...(await Promise.all(group)));
      }
    });
    after(async () => {
      await Promise.all(processes.map((process) => process.kill()));
      await redis.close();
    });
    beforeEach(async () => {
      await whole();
      await answered(() => first().control({ action: 'reset' }));
      await everywhere(false);
    });
    afterEach(() => redis.thaw());

    cases({ redis: () => redis, processes: () => processes, first, whole, everywhere });
  });
}

export function followsARestart({ redis, first, whole, everywhere }: FailingFleet): void {
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
    redis().save();
    await redis().kill();
    await manageAlone();
    await redis().start();
    const back = await whole();
    assert.ok(back < CONVERGED_MS, `together after ${Math.round(back)} ms`);
    t.diagnostic(`together after ${Math.round(back)} ms`);
    await everywhere(true, 'QUEUE');
    const told = (await trailOf(first())).filter(({ categories }) => categories.includes('QUEUE'));
    assert.deepEqual(
      told.slice(-2).map(({ action, outcome }) => [action, outcome]),
      [
        ['enable', 'partial'],
        ['reconcile', 'success'],
      ],
    );
    await answered(() => first().control(enable('HTTP')));
    await everywhere(true, 'HTTP');
    assert.ok(await first().enabled('DATABASE'));
  });
}
