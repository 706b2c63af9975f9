import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Acknowledgement } from '../../src/control/fleet/acknowledgement.ts';
import type { HealthResponse } from '../../src/wire/messages.ts';
import { acknowledges } from './acknowledgement.ts';
import { enable, fleetOf, startMember } from './processes.ts';

acknowledges('Redis');

test('a process without a shared store reports no fleet', async (t) => {
  const alone = await startMember({});
  t.after(() => alone.kill());
  assert.equal((await alone.control(enable('DATABASE'))).body.otelrdcp_fleet, undefined);
  assert.equal(await fleetOf(alone), undefined);
  const { checks } = await alone.get<HealthResponse>('/rdcp/v1/health');
  assert.ok(checks.every(({ name }) => name !== 'fleet'));
  const response = await alone.get<{ error: { code: string } }>('/rdcp/v1/fleet');
  assert.equal(response.error.code, 'RDCP_NOT_FOUND');
});

test('a store that answers after the deadline sets no timer in the past, of which Node would warn', async () => {
  let now = 0;
  const waits: number[] = [];
  const acknowledgement = new Acknowledgement({
    roster: {
      isAlone: true,
      newest: async () => ({ history: 'a', revision: 1 }),
      progress: async () => {
        now += 1500;
        return undefined;
      },
    },
    applied: () => undefined,
    timeoutMs: 1000,
    clock: { monotonic: () => now },
    delay: (milliseconds, task) => {
      waits.push(milliseconds);
      setImmediate(task);
      return () => undefined;
    },
  });
  assert.equal(await acknowledgement.byAll(), undefined);
  assert.deepEqual(waits, [0]);
});
