import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSqliteLock } from '../../src/store/sqlite-lock.ts';

/** A lock that waits in virtual time, and an error as SQLite's for a file that another process has locked. */
function start(random = 0.5) {
  let now = 0;
  const sleeps: number[] = [];
  const lock = createSqliteLock({
    monotonic: () => now,
    sleep: async (milliseconds) => {
      sleeps.push(milliseconds);
      now += milliseconds;
    },
    random: () => random,
  });
  let attempts = 0;
  const busyUntil = (free: number) => () => {
    attempts += 1;
    if (now < free) throw Object.assign(new Error('database is locked'), { errcode: 5 });
    return now;
  };
  return {
    lock,
    sleeps,
    busyUntil,
    attempts: () => attempts,
    pass(milliseconds: number) {
      now += milliseconds;
    },
  };
}

test('a write that meets a lock is tried again after a few milliseconds, and gives up after half a second', async () => {
  const { lock, sleeps, busyUntil } = start();
  const done = await lock.write(busyUntil(100));
  assert.ok(done >= 100 && done < 121, `${done} ms`);
  assert.ok(Math.max(...sleeps) <= 21);
  await assert.rejects(lock.write(busyUntil(Number.POSITIVE_INFINITY)), /locked/);
  const waited = sleeps.reduce((sum, each) => sum + each, 0) - done;
  assert.ok(waited >= 500 && waited < 530, `${waited} ms`);
});

test('the pauses differ by chance, so that processes do not come back at the same moment', async () => {
  const [early, late] = [start(0), start(1)];
  for (const { lock, busyUntil } of [early, late]) await lock.write(busyUntil(60));
  assert.notDeepEqual(early.sleeps.slice(0, 5), late.sleeps.slice(0, 5));
});

test('for a second after a write gave up, nothing is tried that nobody waits for, and a probe once', async () => {
  const { lock, busyUntil, attempts, pass } = start();
  const locked = busyUntil(Number.POSITIVE_INFINITY);
  await assert.rejects(lock.write(locked, 'background'), /locked/);
  const before = attempts();
  for (let more = 0; more < 200; more += 1) await assert.rejects(lock.write(locked, 'background'), /locked/);
  assert.equal(attempts(), before);
  await assert.rejects(lock.write(locked, 'probe'), /locked/);
  assert.equal(attempts(), before + 1);
  pass(1001);
  await lock.write(busyUntil(0), 'background');
  assert.equal(attempts(), before + 2);
});

test('a write that succeeds ends that second', async () => {
  const { lock, busyUntil } = start();
  await assert.rejects(lock.write(busyUntil(Number.POSITIVE_INFINITY), 'background'), /locked/);
  await lock.write(busyUntil(0));
  await lock.write(busyUntil(0), 'background');
});

test('an error that is no lock is not tried again', async () => {
  const { lock, sleeps } = start();
  const full = () => {
    throw Object.assign(new Error('disk full'), { errcode: 13 });
  };
  await assert.rejects(lock.write(full), /full/);
  await assert.rejects(lock.read(full), /full/);
  assert.deepEqual(sleeps, []);
});
