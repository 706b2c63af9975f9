// The suite for stores of an application, on one that is there: a client of the application's own.

import { randomUUID } from 'node:crypto';
import { createRedisStore } from 'opentelemetry-instrumentation-rdcp/redis';
import { storeContract } from 'opentelemetry-instrumentation-rdcp/store-contract';
import { createClient } from 'redis';

const client = createClient({ url: process.env.REDIS_URL ?? '' });
await client.connect();
async function create() {
  const prefix = `${randomUUID()}:`;
  return { open: async () => createRedisStore({ client, prefix }), dispose: async () => undefined };
}
for (const { name, run } of storeContract(create, { shared: true, messages: true, categories: true, tokens: true })) {
  await run().catch((cause) => Promise.reject(new Error(name, { cause })));
}
client.destroy();
