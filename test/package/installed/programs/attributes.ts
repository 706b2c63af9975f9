import assert from 'node:assert/strict';
import { service } from './service.ts';

const { rdcp, lines, client } = await service();
const orders = rdcp.category('ORDERS');
await client.enable('ORDERS', { duration: '1m' });
orders.debug('placed', {
  at: new Date(0),
  ids: new Set([1n]),
  by: new Map([['a', 1]]),
  bytes: Buffer.from('hi'),
  none: undefined,
});
orders.debug('failed', new TypeError('no stock'));
assert.deepEqual(lines[0]?.attributes, { at: '1970-01-01T00:00:00.000Z', ids: ['1'], by: { a: 1 }, bytes: 'aGk=' });
assert.equal(lines[1]?.attributes['exception.type'], 'TypeError');
await rdcp.close();
