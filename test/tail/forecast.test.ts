import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { KEYS, startServer } from '../support/server.ts';

test('a forecast says what a category that is off would emit, and emits nothing', async (t) => {
  const server = await startServer(t);
  const database = server.gate.category('DATABASE');
  const timer = setInterval(() => {
    for (let call = 0; call < 5; call++) database.debug('query', { rows: 3 });
  }, 10);
  t.after(() => clearInterval(timer));
  const client = createRdcpClient({ baseUrl: server.url, apiKey: KEYS.control });
  const { duration, instances, categories } = await client.forecast(['DATABASE', 'HTTP'], { duration: 1 });
  assert.deepEqual([duration, instances], ['1s', { asked: 1, answered: 1 }]);
  const { DATABASE, HTTP } = categories;
  const line = '2026-01-01T00:00:00.000Z DEBUG DATABASE query {"rows":3}\n'.length;
  assert.ok(DATABASE);
  const isAbout = (value: number | undefined, to: number) =>
    assert.ok(Math.abs((value ?? Number.NaN) - to) <= to / 1000, `${value} is about ${to}`);
  isAbout(DATABASE.bytesPerCall?.value, line);
  assert.ok(DATABASE.callsPerSecond.value > 50 && DATABASE.callsPerSecond.value < 600, JSON.stringify(DATABASE));
  isAbout(DATABASE.bytesPerSecond.value, DATABASE.callsPerSecond.value * line);
  isAbout(DATABASE.gigabytesPerDay.value, (DATABASE.bytesPerSecond.value * 86_400) / 1e9);
  assert.deepEqual([DATABASE.callsPerSecond.measured, DATABASE.callsPerSecond.unit], [true, 'per_second']);
  assert.deepEqual([HTTP?.callsPerSecond.value, HTTP?.bytesPerCall], [0, undefined]);
  assert.equal(database.enabled, false);
});
