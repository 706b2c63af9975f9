import assert from 'node:assert/strict';
import type { DebugRecord } from 'opentelemetry-instrumentation-rdcp';
import { service } from './service.ts';

const written: DebugRecord[] = [];
const { rdcp, client } = await service({
  emit: { to: (line: DebugRecord) => void written.push(line), redact: ['*card*'] },
  controls: { budget: { callsPerSecond: 1, burst: 3 } },
});
const orders = rdcp.category('ORDERS');
await client.enable('ORDERS', { duration: '1m' });
for (let n = 0; n < 100; n++)
  orders.debug('paid at postgres://app:hunter2@db', { n, password: 'hunter2', cardNumber: 4711 });
assert.equal(written[0]?.message, 'paid at postgres://[redacted]@db');
assert.deepEqual(written[0]?.attributes, { n: 0, password: '[redacted]', cardNumber: '[redacted]' });
assert.ok(written.length >= 3 && written.length < 100, `${written.length} of 100 calls`);
await rdcp.close();
