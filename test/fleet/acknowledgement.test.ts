import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acknowledges } from './acknowledgement.ts';
import { checkOf, enable, fleetOf, startMember } from './processes.ts';

acknowledges('Redis');

test('a process without a shared store reports no fleet', async (t) => {
  const alone = await startMember({});
  t.after(() => alone.kill());
  assert.equal((await alone.control(enable('DATABASE'))).body.otelrdcp_fleet, undefined);
  assert.equal(await fleetOf(alone), undefined);
  assert.equal(await checkOf(alone, 'fleet'), undefined);
  const response = await alone.get<{ error: { code: string } }>('/rdcp/v1/fleet');
  assert.equal(response.error.code, 'RDCP_NOT_FOUND');
});
