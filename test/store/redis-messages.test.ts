import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { createClient } from 'redis';
import { createRedisStore } from '../../src/store/redis/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { encodeScope } from '../../src/store/stored-values.ts';
import { change, NOW, until } from './contract/samples.ts';
import { type Follower, follow } from './follower.ts';
import { type RedisServer, startRedis, whyNoRedis } from './redis-server.ts';

const FORGER = 'may-publish-only';

/** Somebody who may publish on every channel, and do nothing else. */
async function forgerOf(server: RedisServer) {
  server.command('ACL', 'SETUSER', FORGER, 'on', `>${FORGER}`, 'resetchannels', '&*', '-@all', '+publish', '+hello');
  const client = createClient({
    socket: { host: '127.0.0.1', port: server.port },
    username: FORGER,
    password: FORGER,
    disableClientInfo: true,
  });
  await client.connect();
  await assert.rejects(client.get('meta'), /NOPERM/);
  return client;
}

const missing = whyNoRedis();
describe('a Redis message that no process of the fleet sent', { skip: missing }, () => {
  let server: RedisServer;
  let prefix: string;
  let opened: StateStore[];
  let forger: Awaited<ReturnType<typeof forgerOf>>;

  before(async () => {
    server = await startRedis();
    forger = await forgerOf(server);
  });
  after(async () => {
    forger.destroy();
    await server.close();
  });
  beforeEach(() => {
    prefix = `${randomUUID()}:`;
    opened = [];
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
  });

  const key = (name: string) => `${prefix}{rdcp}:${name}`;
  const publish = (channel: string, message: unknown) => forger.publish(key(channel), JSON.stringify(message));

  function open(): Promise<Follower> {
    const store = createRedisStore({ url: server.url, prefix });
    opened.push(store);
    return follow(store);
  }

  /** The change that would follow the newest one without a gap, as if the forger knew all but what is secret. */
  function nextChange(): unknown[] {
    const [epoch, version, head] = server.command('HMGET', key('meta'), 'epoch', 'version', 'head').split('\n');
    const value = `2 ${NOW} forged-1\n${encodeScope({ settings: new Map([['A', { permanent: true }]]) })}`;
    return [epoch, String(Number(version) + 1), 'forged-1', head, 'acme', value];
  }

  test('switches nothing on, signed or not, and the next change is heard as before', async () => {
    const [a, b] = [await open(), await open()];
    await a.store.commit(change('acme', 0, {}));
    await until(() => b.heard.get('acme')?.revision === 1, 'the first change');
    const forged = nextChange();
    for (const signature of [[], [''], ['0'.repeat(40)], [null], [{}]]) {
      await publish('changed', [...forged, ...signature]);
    }
    await publish('changed', forged.slice(0, 5));
    for (const junk of ['', '[', 'null', '{}', '[]', `${'['.repeat(10_000)}`])
      await forger.publish(key('changed'), junk);
    await a.store.check();
    await b.store.check();
    assert.equal(b.heard.get('acme')?.revision, 1);
    assert.equal(b.heard.get('acme')?.settings.get('A'), undefined);
    await a.store.commit(change('acme', 1, { B: { permanent: true } }));
    await until(() => b.heard.get('acme')?.revision === 2, 'the true change');
    assert.equal(b.heard.get('acme')?.settings.get('A'), undefined);
    assert.deepEqual([a.resets, b.resets], [[], []]);
  });

  test('does not make the processes ask Redis as often as it comes', async () => {
    const { store } = await open();
    await store.commit(change('acme', 0, {}));
    await store.check();
    server.command('CONFIG', 'RESETSTAT');
    const begun = performance.now();
    const [epoch, version, ...rest] = nextChange();
    const forged = [epoch, String(Number(version) + 1), ...rest];
    for (let batch = 0; batch < 50; batch++) {
      await Promise.all(Array.from({ length: 100 }, () => publish('changed', forged)));
    }
    await store.check();
    const looks = Number(/cmdstat_evalsha:calls=(\d+)/.exec(server.command('INFO', 'commandstats'))?.[1]);
    const seconds = (performance.now() - begun) / 1000;
    assert.ok(looks <= 4 + 15 * seconds, `${looks} times in ${seconds} s`);
  });

  test('acknowledges nothing for a process that has not followed', async () => {
    const { store } = await open();
    const fleet = store.fleet;
    assert.ok(fleet?.count !== undefined);
    await store.commit(change('acme', 0, {}));
    const lagging = { id: 'lagging', host: 'h', pid: 1, service: 'shop', startedAt: NOW };
    await fleet.announce(lagging, undefined);
    let heard = 0;
    fleet.onAnnounced(() => {
      heard += 1;
    });
    const [channel] = server.command('PUBSUB', 'CHANNELS', `${prefix}*applied:*`).split('\n');
    const { history = '', revision = 0 } = fleet.position() ?? {};
    for (const message of ['', JSON.stringify(['lagging', history, String(revision)])]) {
      await forger.publish(String(channel), message);
    }
    await until(() => heard === 2, 'the forged messages');
    const { instances, applied } = await fleet.count('nobody');
    assert.deepEqual([instances, applied], [1, 0]);
  });

  test('and a garbage field among the processes hides none of them', async () => {
    const { store } = await open();
    assert.ok(store.fleet !== undefined);
    const instance = { host: 'h', pid: 1, service: 'shop', startedAt: NOW };
    await store.fleet.announce({ id: 'real', ...instance }, store.fleet.position());
    const [seconds] = server.command('TIME').split('\n');
    for (const [field, value] of [
      ['garbage', 'garbage'],
      ['empty', ''],
      ['negative', '-1\n{}'],
      ['no-json', '3500\n{'],
      ['null', '3500\nnull'],
      ['no-fields', '3500\n{}'],
    ] as const) {
      server.command('HSET', key('fleet'), field, value);
      server.command('ZADD', key('seen'), `${Number(seconds) + 3}000`, field);
      server.command('ZADD', key('applied'), '1', field);
    }
    server.command('ZADD', key('seen'), `${Number(seconds) + 3}000`, 'no-value');
    const { instances } = await store.fleet.look();
    assert.deepEqual(
      instances.map(({ id }) => id),
      ['real'],
    );
  });
});
