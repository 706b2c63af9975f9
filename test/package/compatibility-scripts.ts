const SWITCHED = `
const key = 'a-secret-of-thirty-two-characters';
const hash = 'sha256:' + createHash('sha256').update(key).digest('hex');
const security = { apiKeys: [{ id: 'k', hash, clientId: 'test', scopes: ['control', 'status', 'discovery'] }] };
async function switchedOver(config) {
  const rdcp = createRdcp({ server: { port: 0 }, categories: { PAYMENTS: {} }, security, ...config });
  const { url } = await rdcp.listen();
  const before = category('PAYMENTS').enabled;
  await createRdcpClient({ baseUrl: url, apiKey: key }).enable('PAYMENTS', { duration: '1m' });
  const seen = [before, category('PAYMENTS').enabled, rdcp.category('PAYMENTS') === category('PAYMENTS')];
  await rdcp.close();
  return [...seen, category('PAYMENTS').enabled];
}
`;

const IMPORTS = `
import { createHash } from 'node:crypto';
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';
`;

const REQUIRES = IMPORTS.replace(/import (\{.*\}) from ('.*');/g, 'const $1 = require($2);');

const TEST = `
test('a category is switched over HTTP', async () => {
  expect(await switchedOver({})).toEqual([false, true, true, false]);
});
`;

/** The same test file for Jest and Vitest. */
export const TEST_FILES = {
  CommonJS: REQUIRES + SWITCHED + TEST,
  'ES modules': IMPORTS + SWITCHED + TEST,
};

/** State in the Redis of `REDIS_URL`, by a URL and by a client of the application. */
export const WITH_REDIS = `
import assert from 'node:assert/strict';
import { createClient } from 'redis';
import { createRedisStore } from 'opentelemetry-instrumentation-rdcp/redis';
${IMPORTS}
${SWITCHED}
const { REDIS_URL } = process.env;
const client = createClient({ url: REDIS_URL });
client.on('error', console.error);
await client.connect();
const expected = [false, true, true, false];
assert.deepEqual(await switchedOver({ store: REDIS_URL }), expected);
await client.sendCommand(['FLUSHALL']);
assert.deepEqual(await switchedOver({ store: createRedisStore({ client, prefix: 'shop:' }) }), expected);
assert.ok((await client.sendCommand(['KEYS', 'shop:*'])).length > 0);
client.destroy();
console.log('switched twice');
`;

/** What a store says beside a version of redis that it does not take. */
export const REFUSED_REDIS = `
const { createRedisStore } = await import('opentelemetry-instrumentation-rdcp/redis');
try { createRedisStore({ url: 'redis://localhost' }); } catch ({ message }) { console.log(message); }
`;

/** Clients as an application of any version makes them. */
export const TYPED_REDIS = `
import { createClient, createCluster } from 'redis';
import { createRedisStore } from 'opentelemetry-instrumentation-rdcp/redis';
const client = createClient({ url: 'redis://localhost' });
export const stores = [
  createRedisStore({ client }),
  createRedisStore({ client: createClient({ database: 1 }) }),
  createRedisStore({ client: createCluster({ rootNodes: [] }) }),
];
// @ts-expect-error no client
createRedisStore({ client: {} });
`;

/** Every entry, typed. */
export const TYPED_ENTRIES = `
import { createRdcp, type Rdcp, RdcpInstrumentation } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';
import { createRedisStore } from 'opentelemetry-instrumentation-rdcp/redis';
import 'opentelemetry-instrumentation-rdcp/register';
export const rdcp: Rdcp = createRdcp({ store: createRedisStore({ url: 'redis://localhost' }) });
export const instrumentation = new RdcpInstrumentation({ server: false });
export const on: boolean = category('PAYMENTS').enabled;
export const client = createRdcpClient({ baseUrl: 'http://localhost' });
// @ts-expect-error the name is a string
category(1);
// @ts-expect-error an unknown field is an error
createRdcp({ sever: {} });
`;

/** Libraries import the api wherever they run. */
export const API_ALONE = `
import { category, runWithTenant } from 'opentelemetry-instrumentation-rdcp/api';
const payments = category('PAYMENTS', { description: 'card payments' });
const off = !payments.enabled && category('PAYMENTS') === payments;
payments.debug('charging', () => { throw new Error('it runs only when on'); });
console.log(off, runWithTenant('acme', () => payments.span('charge', () => 'charged')));
`;
