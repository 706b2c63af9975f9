// What was switched is in force again after a restart, and in another process of the fleet.

import assert from 'node:assert/strict';
import { createPostgresStore } from 'opentelemetry-instrumentation-rdcp/postgres';
import { createRedisStore } from 'opentelemetry-instrumentation-rdcp/redis';
import pg from 'pg';
import { createClient } from 'redis';
import { service } from './service.ts';

const { REDIS_URL = '', POSTGRES_URL = '' } = process.env;
const client = createClient({ url: REDIS_URL });
await client.connect();
const pool = new pg.Pool({ connectionString: POSTGRES_URL });
const stores = [
  'sqlite:fleet.sqlite',
  REDIS_URL,
  () => createRedisStore({ client, prefix: 'shop:' }),
  `${POSTGRES_URL}?schema=fleet`,
  () => createPostgresStore({ pool, schema: 'shop' }),
];
for (const each of stores) {
  for (const enabled of [false, true]) {
    const { rdcp, client } = await service({
      store: typeof each === 'function' ? each() : each,
      categories: { ORDERS: {} },
    });
    const { categories } = await client.discovery();
    assert.equal(categories.find(({ name }) => name === 'ORDERS')?.enabled, enabled, String(each));
    assert.equal((await client.fleet()).instances.length, 1);
    await client.enable('ORDERS');
    await rdcp.close();
  }
}
client.destroy();
await pool.end();
