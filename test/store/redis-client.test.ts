import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { createClient, createClientPool, createCluster, createSentinel, RESP_TYPES } from 'redis';
import { createClient as createVersion4 } from 'redis-4';
import { openStore } from '../../src/store/open.ts';
import { createRedisStore, type RedisClient } from '../../src/store/redis/store.ts';
import { tokensOf } from '../support/on-records.ts';
import { auditIds, change, committedRevision, NOW, replayRecord, until } from './contract/samples.ts';
import { follow, PATIENCE_MS, rejectsSoon } from './follower.ts';
import { onRedis } from './on-redis.ts';
import { applicationClientContract, CONNECTED } from './redis-clients.ts';
import { whyNoRedis } from './redis-server.ts';

const missing = whyNoRedis();
applicationClientContract('a client');

describe('a Redis client of the application', { skip: missing }, () => {
  const place = onRedis();

  const open = (client: RedisClient, more: { readonly pollMs?: number } = {}) =>
    place.open({ client, deadlineMs: PATIENCE_MS, ...more });

  const other = () => follow(place.open({ deadlineMs: PATIENCE_MS }));

  const subscriptions = () =>
    Number(place.server.command('PUBSUB', 'NUMSUB', `${place.prefix}{rdcp}:changed`).split('\n')[1]);
  const connections = () => place.server.command('CLIENT', 'LIST').split('\n').length;

  const connected = () => CONNECTED['a client'](place.server.url);

  test('a client of another package, of version 4 or of a pool is refused at once, with what is supported', async (t) => {
    const other = new Redis(place.server.url);
    const cluster = new Cluster([place.server.url], { lazyConnect: true });
    t.after(() => other.disconnect());
    await other.ping();
    const connecting = connected();
    t.after(async () => (await connecting).destroy());
    const pool = createClientPool({ url: place.server.url });
    const old = createVersion4({ url: place.server.url });
    for (const client of [
      other,
      cluster,
      pool,
      old,
      connecting,
      createClient,
      {},
      null,
      undefined,
      place.server.url,
      7,
    ]) {
      assert.throws(() => open(client as unknown as RedisClient), {
        code: 'RDCP_CONFIG_INVALID',
        message: /^configuration: store: redis: client must be one of the package redis, version 5 or 6, .*ioredis/,
      });
    }
  });

  for (const [kind, connect] of Object.entries(CONNECTED)) {
    test(`${kind} is used, listened to and left open, and the connection for messages is closed`, async (t) => {
      const client = await connect(place.server.url);
      t.after(() => client.destroy());
      const store = open(client);
      const heard: string[] = [];
      store.subscribe((scope) => heard.push(scope));
      await store.load();
      const { store: elsewhere } = await other();
      await elsewhere.commit(change('acme', 0, {}));
      await until(() => heard.includes('acme'), 'the change');
      await until(() => subscriptions() === 2, 'both subscriptions');
      const before = connections();
      await store.close();
      await until(() => connections() === before - 1, 'the end of the connection for messages');
      await assert.rejects(store.check());
      assert.equal(await client.sendCommand(['PING']), 'PONG');
    });
  }

  test('a command that a client sends twice takes effect once', async (t) => {
    const client = await connected();
    t.after(() => client.destroy());
    const stuttering: typeof client = Object.assign(Object.create(client), {
      async sendCommand(args: readonly string[]) {
        await client.sendCommand(args);
        return client.sendCommand(args);
      },
    });
    const store = open(stuttering);
    const replay = replayRecord();
    assert.equal(committedRevision(await store.commit(change('acme', 0, {}, { replay }))), 1);
    assert.equal(committedRevision(await store.commit(change('acme', 1, {}))), 2);
    assert.equal((await auditIds(store)).length, 2);

    const tokens = tokensOf(store);
    await tokens.begin({ id: 'session', current: 'first', data: '{}', expiresAt: NOW + 1_000 }, NOW);
    const rotation = { id: 'session', expected: 'first', next: 'second', now: NOW, revokedUntil: NOW + 1_000 };
    assert.equal(await tokens.rotate(rotation), 'rotated');
    assert.equal((await tokens.find('session', NOW))?.current, 'second');
  });

  test('a store that is closed has nothing under way at the client, which the application may close then', async (t) => {
    const client = await connected();
    t.after(() => client.destroy());
    let underWay = 0;
    const slow: typeof client = Object.assign(Object.create(client), {
      async sendCommand(args: readonly string[]) {
        underWay += 1;
        await sleep(100);
        return client.sendCommand(args).finally(() => {
          underWay -= 1;
        });
      },
    });
    const store = open(slow);
    const asked = [store.check(), store.newestAudit()].map((answer) => answer.catch(() => {}));
    await until(() => underWay >= 2, 'two commands');
    await store.close();
    assert.equal(underWay, 0);
    await Promise.all(asked);
  });

  test('the message of a change that an answer has overtaken is not announced', async (t) => {
    // Messages are held back on their way; the answers to commands are not.
    const held: (() => void)[] = [];
    let holding = true;
    const client = await connected();
    t.after(() => client.destroy());
    const slow: typeof client = Object.assign(Object.create(client), {
      duplicate(overrides: object) {
        const messages = client.duplicate(overrides);
        return Object.assign(Object.create(messages), {
          connect: () => messages.connect(),
          subscribe: (channels: string[], listener: (message: string, channel: string) => void) =>
            messages.subscribe(channels, (message, channel) => {
              const deliver = () => listener(message, channel);
              if (holding) held.push(deliver);
              else deliver();
            }),
        });
      },
    });
    const store = open(slow, { pollMs: 3_600_000 });
    await store.load();
    const heard: number[] = [];
    store.subscribe((_, { revision }) => heard.push(revision));
    const { store: elsewhere } = await other();
    await until(() => subscriptions() === 2, 'both subscriptions');
    await elsewhere.commit(change('acme', 0, {}));
    await until(() => held.length === 1, 'the first message');
    assert.equal(committedRevision(await store.commit(change('acme', 1, {}))), 2);
    await elsewhere.commit(change('acme', 2, {}));
    await until(() => held.length === 3, 'all three messages');
    holding = false;
    for (const deliver of held) deliver();
    await until(() => heard.at(-1) === 3, 'the newest state');
    assert.deepEqual(heard, [2, 3]);
  });
});

/** Clients as applications make them. That this compiles is what the declared types promise. */
const unconnected = (): Record<string, RedisClient> => {
  const buffers = { [RESP_TYPES.BLOB_STRING]: Buffer };
  const node = { host: '127.0.0.1', port: 1 };
  const sentinel = createSentinel({ name: 'control', sentinelRootNodes: [node] });
  const cluster = createCluster({ rootNodes: [{ socket: node }], useReplicas: true });
  return {
    client: createClient({ socket: node }),
    'client of the older protocol that answers with buffers': createClient({ socket: node, RESP: 2 }).withTypeMapping(
      buffers,
    ),
    sentinel,
    'sentinel that answers with buffers': sentinel.withTypeMapping(buffers),
    cluster,
    'cluster that answers with buffers': cluster.withTypeMapping(buffers),
  };
};

for (const [kind, client] of Object.entries(unconnected())) {
  test(`a ${kind} that the application has not connected is not connected by the store, which rejects`, async () => {
    const store = createRedisStore({ client, pollMs: 10 });
    await rejectsSoon(store.load());
    await rejectsSoon(store.commit(change('acme', 0, {})));
    await store.close();
  });
}

for (const installed of ['redis-4', 'redis-that-is-not-installed']) {
  test(`with ${installed} in the place of the package, a URL is refused, and says what to install`, () => {
    const hooks = registerHooks({
      resolve: (specifier, context, next) => next(specifier === 'redis' ? installed : specifier, context),
    });
    try {
      assert.throws(() => openStore('redis://127.0.0.1:1'), {
        code: 'RDCP_CONFIG_INVALID',
        message: 'configuration: store: needs the package redis, version 5 or 6: run npm install redis',
      });
    } finally {
      hooks.deregister();
    }
  });
}

test('a prefix whose keys a cluster would spread over its nodes is refused', () => {
  const open = (prefix: string) => createRedisStore({ url: 'redis://127.0.0.1:1', prefix });
  for (const prefix of ['{}', 'shop{}:', '}{}']) assert.throws(() => open(prefix), { code: 'RDCP_CONFIG_INVALID' });
  for (const prefix of ['{', '}', '{shop}{}', 'a{{}']) void open(prefix).close();
});
