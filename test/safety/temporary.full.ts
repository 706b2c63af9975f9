import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import {
  assertExpiredOnce,
  assertOffSince,
  enableFor,
  endsThoughClockJumps,
  goesOnAfter,
  host,
  passed,
} from './temporary.ts';

const HOUR = 3_600_000;

describe('a temporary control of a real process never outlives its time', { concurrency: 4 }, () => {
  goesOnAfter('SIGKILL');
  goesOnAfter('SIGTERM');
  endsThoughClockJumps(['a year back', 'an hour forward', 'a year forward']);

  it('has ended when the service comes back after its time', async (t) => {
    const here = host(t);
    const first = await here.start();
    const end = await enableFor(first, 1);
    await first.kill();
    await passed(end);
    const second = await here.start();
    assert.equal((await second.states()).DATABASE, false);
    assert.deepEqual(await second.momentsOn(), []);
    await assertExpiredOnce(second);
  });

  it('ends in the other processes when the one that set it was killed, stopped or has another clock', async (t) => {
    const here = host(t);
    const [killed, stopped, behind, ahead] = await Promise.all([
      here.start(),
      here.start(),
      here.start(-HOUR),
      here.start(HOUR),
    ]);
    const end = await enableFor(killed, 3);
    await killed.kill();
    stopped.child.kill('SIGSTOP');
    await passed(end);
    for (const service of [behind, ahead]) {
      assert.equal((await service.states()).DATABASE, false);
      await assertOffSince(service, end);
    }
    stopped.child.kill('SIGCONT');
    assert.equal((await stopped.states()).DATABASE, false);
    await assertOffSince(stopped, end);
    await assertExpiredOnce(behind);
  });

  it('ends in every process while the store that they share does not answer', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    const there = host(t, redis.url);
    const services = await Promise.all([there.start(), there.start()]);
    const end = await enableFor(services[0], 3);
    await until('both to be on', async () => {
      const states = await Promise.all(services.map((service) => service.states()));
      return states.every(({ DATABASE }) => DATABASE) ? true : undefined;
    });
    redis.freeze();
    await passed(end);
    for (const service of services) {
      assert.equal((await service.states()).DATABASE, false);
      await assertOffSince(service, end);
    }
    redis.thaw();
    await assertExpiredOnce(services[1]);
    for (const service of services) await assertOffSince(service, end);
  });
});

describe('a temporary control that PostgreSQL keeps never outlives its time', { skip: whyNoPostgres() }, () => {
  endsThoughClockJumps(['an hour back', 'a year forward'], async (t) => {
    const server = await startPostgres();
    t.after(() => server.close());
    return server.url;
  });
});
