import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHealthChecks, type HealthCheck } from '../../src/endpoint/routes/service.ts';
import { systemClock } from '../../src/wire/time/clock.ts';

const pass: HealthCheck = { name: 'fine', run: () => undefined, onFailure: 'fail' };
const rejects = async () => {
  throw new Error('down');
};

test('a failing check says since when it fails, until it has passed again', async () => {
  let now = Date.UTC(2026, 0, 31);
  let fails = true;
  const flapping: HealthCheck = { name: 'store', run: () => (fails ? rejects() : undefined), onFailure: 'warn' };
  const run = createHealthChecks({ checks: [flapping], clock: { now: () => now, monotonic: () => now } });
  const since = async () => (await run()).checks[0]?.otelrdcp_since;
  assert.equal(await since(), '2026-01-31T00:00:00.000Z');
  now += 60_000;
  assert.equal(await since(), '2026-01-31T00:00:00.000Z');
  fails = false;
  now += 60_000;
  assert.equal(await since(), undefined);
  fails = true;
  now += 60_000;
  assert.equal(await since(), '2026-01-31T00:03:00.000Z');
});

test('a check that hangs fails at its deadline, holds up no other, and is not started a second time', async () => {
  let now = 0;
  let started = 0;
  const hang: HealthCheck = {
    name: 'hang',
    run: () => {
      started += 1;
      return new Promise(() => undefined);
    },
    onFailure: 'fail',
  };
  const run = createHealthChecks({
    checks: [hang, pass],
    clock: { now: () => now, monotonic: () => now },
    deadlineMs: 20,
  });
  assert.deepEqual(
    (await run()).checks.map(({ status }) => status),
    ['fail', 'pass'],
  );
  now = 5000;
  assert.equal((await run()).status, 'unhealthy');
  assert.equal(started, 1);
});

test('a flood of probes costs one run a second', async () => {
  let now = 0;
  let runs = 0;
  const counted: HealthCheck = {
    name: 'counted',
    run: async () => {
      runs += 1;
    },
    onFailure: 'fail',
  };
  const run = createHealthChecks({ checks: [counted], clock: { now: () => now, monotonic: () => now } });
  await Promise.all(Array.from({ length: 100 }, run));
  now = 999;
  await run();
  assert.equal(runs, 1);
  now = 1000;
  await run();
  assert.equal(runs, 2);
});

test('checks run side by side', async () => {
  const { promise: bothStarted, resolve } = Promise.withResolvers<void>();
  let started = 0;
  const waitsForBoth = () => {
    started += 1;
    if (started === 2) resolve();
    return bothStarted;
  };
  const checks: HealthCheck[] = ['one', 'two'].map((name) => ({ name, run: waitsForBoth, onFailure: 'fail' }));
  assert.equal((await createHealthChecks({ checks, clock: systemClock, deadlineMs: 2000 })()).status, 'healthy');
});
