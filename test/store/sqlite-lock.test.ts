import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryWhileLocked } from '../../src/store/sqlite/file.ts';

/** Retries in virtual time, and an error as SQLite's for a file that another process has locked. */
function start(random = 0.5) {
  let now = 0;
  const sleeps: number[] = [];
  const times = {
    monotonic: () => now,
    sleep: async (milliseconds: number) => {
      sleeps.push(milliseconds);
      now += milliseconds;
    },
    random: () => random,
  };
  return {
    sleeps,
    retry: <T>(work: () => T) => retryWhileLocked(500, work, times),
    busyUntil: (free: number) => () => {
      if (now < free) throw Object.assign(new Error('database is locked'), { errcode: 5 });
      return now;
    },
  };
}

test('work that meets a lock is tried again after a few milliseconds, and gives up after half a second', async () => {
  const { retry, sleeps, busyUntil } = start();
  const done = await retry(busyUntil(100));
  assert.ok(done >= 100 && done < 121, `${done} ms`);
  assert.ok(Math.max(...sleeps) <= 21);
  await assert.rejects(retry(busyUntil(Number.POSITIVE_INFINITY)), /locked/);
  const waited = sleeps.reduce((sum, each) => sum + each, 0) - done;
  assert.ok(waited >= 500 && waited < 530, `${waited} ms`);
});

test('the pauses are random, so that processes do not come back at the same moment', async () => {
  const [early, late] = [start(0), start(1)];
  for (const { retry, busyUntil } of [early, late]) await retry(busyUntil(60));
  assert.notDeepEqual(early.sleeps.slice(0, 5), late.sleeps.slice(0, 5));
});

test('an error that is no lock is not tried again', async () => {
  const { retry, sleeps } = start();
  const full = () => {
    throw Object.assign(new Error('disk full'), { errcode: 13 });
  };
  await assert.rejects(retry(full), /full/);
  assert.deepEqual(sleeps, []);
});
