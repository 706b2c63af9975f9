import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { change, until } from './contract/samples.ts';
import { eventually, follow, PATIENCE_MS } from './follower.ts';
import { onRedis } from './on-redis.ts';
import { PASSWORD, whyNoRedis } from './redis-server.ts';

const USER = 'service';

describe('a store by its URL', { skip: whyNoRedis() }, () => {
  const place = onRedis();

  /** The connections of a user, with how many channels each has. */
  const connections = (user: string) =>
    place.server
      .command('CLIENT', 'LIST')
      .split('\n')
      .filter((line) => line.includes(` user=${user} `) && !line.includes('cmd=client|list'))
      .map((line) => Number(/ sub=(\d+)/.exec(line)?.[1]));

  test('has one connection for commands and messages, also after that was lost', async (t) => {
    const [a, b] = await Promise.all(
      [place.server.url, place.server.url].map((url) => follow(createRedisStore({ url, pollMs: 60_000 }))),
    );
    assert.ok(a !== undefined && b !== undefined);
    t.after(() => Promise.all([a.store.close(), b.store.close()]));
    assert.deepEqual(connections('default'), [3, 3]);
    await a.store.commit(change('acme', 0, {}));
    await until(() => b.heard.get('acme')?.revision === 1, 'the message');

    place.server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(() => a.store.commit(change('acme', 1, {})), PATIENCE_MS);
    await until(() => b.heard.get('acme')?.revision === 2, 'the change after the loss');
    await until(() => isDeepStrictEqual(connections('default'), [3, 3]), 'both subscriptions');
    await a.store.commit(change('acme', 2, {}));
    await until(() => b.heard.get('acme')?.revision === 3, 'a message after the loss');
  });

  test('works without the permission to subscribe, and subscribes once it has it', async (t) => {
    place.server.command('ACL', 'SETUSER', USER, 'on', `>${PASSWORD}`, '~*', '+@all', 'resetchannels', '&*check*');
    const { store, heard } = await follow(
      createRedisStore({ url: place.server.url.replace('://:', `://${USER}:`), prefix: 'acl:', pollMs: 50 }),
    );
    t.after(() => store.close());
    const other = createRedisStore({ url: place.server.url, prefix: 'acl:' });
    t.after(() => other.close());
    await other.load();
    await other.commit(change('acme', 0, {}));
    await until(() => heard.get('acme')?.revision === 1, 'the poll');
    assert.deepEqual(connections(USER), [0]);
    place.server.command('ACL', 'SETUSER', USER, '&*');
    await until(() => connections(USER)[0] === 3, 'the subscription');
  });
});
