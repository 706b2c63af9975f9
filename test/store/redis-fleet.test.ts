import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countOf, fleetOf } from '../support/on-records.ts';
import { change, NOW, until } from './contract/samples.ts';
import { follow } from './follower.ts';
import { onRedis } from './on-redis.ts';
import { whyNoRedis } from './redis-server.ts';

const instance = (id: string) => ({ id, host: 'h', pid: 1, service: 'shop', startedAt: NOW });

describe('a fleet on Redis', { skip: whyNoRedis() }, () => {
  const place = onRedis();
  const { key } = place;

  const now = () => Number(place.server.command('TIME').split('\n')[0]) * 1000;

  /** A handle that follows, and polls seldom. */
  async function open() {
    const { store } = await follow(place.open({ pollMs: 60_000 }));
    return { store, fleet: fleetOf(store) };
  }

  /** What was executed, the commands within scripts included. */
  async function commandsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
    place.server.command('CONFIG', 'RESETSTAT');
    await work();
    const rows = place.server.command('INFO', 'commandstats').matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
    const own = /^(config|auth|info|ping)/;
    return Object.fromEntries(
      [...rows].flatMap(([, name = '', calls]) => (own.test(name) ? [] : [[name, Number(calls)]])),
    );
  }

  test('what was applied is said by one script', async () => {
    const [author, b] = [await open(), await open()];
    await b.fleet.announce(instance('b'), b.fleet.position());
    await author.store.commit(change('acme', 0, {}));
    await until(() => b.fleet.position()?.revision === 1, 'the change');
    assert.deepEqual(await commandsOf(() => b.fleet.announce(instance('b'), b.fleet.position())), {
      ...{ evalsha: 1, time: 1, hget: 1, hset: 1, zadd: 1 },
    });
    const { applied, instances } = await countOf(author.fleet, 'author');
    assert.deepEqual([applied, instances], [1, 1]);
  });

  test('an announcement that says nothing new costs two commands, and one that Redis has forgotten is whole', async () => {
    const { fleet } = await open();
    const announce = () => fleet.announce(instance('a'), fleet.position());
    await announce();
    assert.deepEqual(await commandsOf(announce), { zadd: 1, hmget: 1 });
    place.server.command('DEL', key('beats'), key('beat'), key('member:a'));
    await announce();
    assert.deepEqual(
      (await fleet.look()).instances.map(({ id }) => id),
      ['a'],
    );
    const ten = await commandsOf(async () => {
      for (let count = 0; count < 10; count += 1) await announce();
    });
    assert.equal(ten.evalsha, 1, 'the tenth reads the time and the size again');
  });

  /** Beats of others, as many as make the fleet a large one. */
  function crowd(): void {
    const score = `${now()}000`;
    const scores = Array.from({ length: 999 }, (_, index) => [score, `other-${index}`]);
    const beats = scores.flatMap(([, id = '']) => [id, `${Date.now() + 60_000}\n3500`]);
    place.server.command('ZADD', key('beats'), ...scores.flat());
    place.server.command('HSET', key('beat'), ...beats);
  }

  test('processes announce themselves less often the more there are, and are gone accordingly later', async () => {
    const { fleet } = await open();
    await fleet.announce(instance('a'), fleet.position());
    assert.equal(fleet.beatMs(), 1000);
    crowd();
    for (let count = 0; count < 10; count += 1) await fleet.announce(instance('a'), fleet.position());
    assert.equal(fleet.beatMs(), 3000);
    await fleet.announce(instance('a'), fleet.position());
    assert.deepEqual((await fleet.look()).instances[0]?.goneAfter, 9500);
  });

  test('in a large fleet, processes take turns to read a change that is too large for a message', async (t) => {
    const LARGE = Object.fromEntries(
      Array.from({ length: 3000 }, (_, index) => [`CATEGORY_${index}`, { permanent: true }]),
    );
    const [author, b] = [await open(), await open()];
    crowd();
    await b.fleet.announce(instance('b'), b.fleet.position());
    t.mock.method(Math, 'random', () => 0.6);
    const begun = performance.now();
    await author.store.commit(change('acme', 0, LARGE));
    await until(() => b.fleet.position()?.revision === 1, 'the change');
    const took = performance.now() - begun;
    assert.ok(took >= 590, `after ${took} ms`);
  });

  test('one that was silent for too long is counted apart and listed once, also when it is back; at its end it is forgotten', async () => {
    const { store, fleet } = await open();
    await store.commit(change('acme', 0, {}));
    const announce = () => fleet.announce(instance('a'), fleet.position());
    const fallSilent = () => place.server.command('ZADD', key('beats'), `${now() - 5000}000`, 'a');
    const counts = async (self: string) => {
      const { instances, silent } = await countOf(fleet, self);
      const listed = (await fleet.look()).instances;
      return [instances, silent, listed.map(({ silentFor, goneAfter = 0 }) => silentFor > goneAfter)];
    };
    await announce();
    fallSilent();
    assert.deepEqual(
      [await counts('nobody'), await counts('a')],
      [
        [0, 1, [true]],
        [0, 0, [true]],
      ],
    );
    await announce();
    assert.deepEqual(await counts('nobody'), [1, 0, [false]]);
    place.server.command('HSET', key('beat'), 'a', `${Date.now() - 1}\n3500`);
    assert.deepEqual((await fleet.look()).instances, []);
    await fleet.announce(instance('b'), undefined);
    assert.equal(place.server.command('HEXISTS', key('beat'), 'a'), '0', 'the next one that joins removes it');
  });

  test('one that announced itself before the clock of the server was set back is gone in time all the same', async () => {
    const { fleet } = await open();
    await fleet.announce(instance('a'), fleet.position());
    place.server.command('ZADD', key('beats'), `${now() + 3_600_000}000`, 'a');
    assert.equal((await countOf(fleet, 'nobody')).instances, 1);
    const ahead = Number(place.server.command('ZSCORE', key('beats'), 'a')) / 1000 - now();
    assert.ok(ahead <= 1000, `${ahead}`);
  });

  test('a change whose message was lost is found by the next announcement', async () => {
    const [author, b] = [await open(), await open()];
    await b.fleet.announce(instance('b'), b.fleet.position());
    await author.store.commit(change('acme', 0, {}));
    await until(() => b.fleet.position()?.revision === 1, 'the first change');
    await b.fleet.announce(instance('b'), b.fleet.position());
    // As a commit leaves it, without its message.
    place.server.command('HSET', key('meta'), 'version', '2', 'head', 'unheard');
    await b.fleet.announce(instance('b'), b.fleet.position());
    await until(() => b.fleet.position()?.revision === 2, 'the lost change');
  });
});
