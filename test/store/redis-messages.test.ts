import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClient } from 'redis';
import { encodeScope } from '../../src/store/stored-values.ts';
import { fleetOf } from '../support/on-records.ts';
import { change, NOW, until } from './contract/samples.ts';
import { follow } from './follower.ts';
import { onRedis } from './on-redis.ts';
import { type RedisServer, whyNoRedis } from './redis-server.ts';

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
  let forger: Awaited<ReturnType<typeof forgerOf>>;
  // Before the server goes.
  after(() => forger.destroy());
  const place = onRedis();
  const { key } = place;
  before(async () => {
    forger = await forgerOf(place.server);
  });

  const publish = (channel: string, message: unknown) => forger.publish(key(channel), JSON.stringify(message));

  const open = () => follow(place.open());

  /** The change that would follow the newest one without a gap, as if the forger knew all but what is secret. */
  function nextChange(): unknown[] {
    const [epoch, version, head] = place.server.command('HMGET', key('meta'), 'epoch', 'version', 'head').split('\n');
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
    place.server.command('CONFIG', 'RESETSTAT');
    const begun = performance.now();
    const [epoch, version, ...rest] = nextChange();
    const forged = [epoch, String(Number(version) + 1), ...rest];
    for (let batch = 0; batch < 50; batch++) {
      await Promise.all(Array.from({ length: 100 }, () => publish('changed', forged)));
    }
    await store.check();
    const looks = Number(/cmdstat_evalsha:calls=(\d+)/.exec(place.server.command('INFO', 'commandstats'))?.[1]);
    const seconds = (performance.now() - begun) / 1000;
    assert.ok(looks <= 4 + 15 * seconds, `${looks} times in ${seconds} s`);
  });

  test('and a garbage field among the processes hides none of them', async () => {
    const { store } = await open();
    const instance = { host: 'h', pid: 1, service: 'shop', startedAt: NOW };
    await fleetOf(store).announce({ id: 'real', ...instance }, fleetOf(store).position());
    const far = String(Date.now() + 60_000);
    const [seconds] = place.server.command('TIME').split('\n');
    const beats = ['', 'garbage', '-1', far, `${far}\n`, `${far}\n-1`, `${far}\n3500 x y`, `${far}\n3500 1e400 epoch`];
    for (const [index, beat] of [...beats, `${far}\n3500`, `${far}\n3500`, `${far}\n3500`].entries()) {
      place.server.command('HSET', key('beat'), `garbage-${index}`, beat);
      place.server.command('ZADD', key('beats'), `${seconds}000000`, `garbage-${index}`);
      for (const [of, member] of ['{', 'null', '{}'].entries())
        place.server.command('SET', key(`member:garbage-${beats.length + of}`), `${far}\n${member}`);
    }
    place.server.command('ZADD', key('beats'), `${seconds}000000`, 'no-value');
    const { instances } = await fleetOf(store).look();
    assert.deepEqual(
      instances.map(({ id }) => id),
      ['real'],
    );
  });
});
