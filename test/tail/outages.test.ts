import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { startProxy, type Way } from '../store/proxy.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newFolder } from '../support/folder.ts';
import { startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { network, receiver } from './network.ts';

/** A store as one process has it, and how it is taken from that process. */
interface Access {
  readonly store: StateStore;
  readonly outages: readonly { readonly name: string; begin(): void; end(): void }[];
}

/** A store behind a proxy on which nothing arrives one way. */
async function behindProxy(t: TestContext, server: { url: string; port: number }, open: (url: string) => StateStore) {
  const proxy = await startProxy(server.port);
  t.after(() => proxy.close());
  const store = open(server.url.replace(`:${server.port}`, `:${proxy.port}`));
  const ways: readonly Way[] = ['up', 'down'];
  return {
    store,
    outages: ways.map((way) => ({ name: way, begin: () => proxy.hold(way), end: () => proxy.release() })),
  };
}

/**
 * Process `a` tails `b`, which writes all the time, and the store is taken from one of them for longer than a lease lasts.
 * Clocks are moved by hand, messages pass through the real store.
 */
async function allAreAccountedFor(t: TestContext, join: () => Promise<Access>): Promise<void> {
  const ends = { a: await join(), b: await join() };
  t.after(() => Promise.all(Object.values(ends).map(({ store }) => store.close())));
  await Promise.all(Object.values(ends).map(({ store }) => store.load()));
  const { time, process } = network();
  const a = process('a', { messages: ends.a.store.messages });
  const b = process('b', { messages: ends.b.store.messages });
  const got = receiver();
  const running = a.relay.tail({ categories: ['DATABASE'], rate: 1000, log: false }, got);
  let written = 0;
  const write = async () => {
    written += 1;
    b.database.debug(`line ${written}`);
    await time.pass(50);
  };
  const newest = () => got.received.at(-1)?.message;
  const arrives = () =>
    until('a line of b arrives', async () => {
      const before = newest();
      await write();
      return newest() !== before;
    });
  await until('b is tapped', async () => {
    await time.pass(50);
    return b.database.enabled;
  });
  for (const [who, { outages }] of Object.entries(ends)) {
    for (const outage of outages) {
      await arrives();
      outage.begin();
      for (let line = 0; line < 80; line += 1) await write();
      outage.end();
      await arrives();
      await until(
        'nothing is on its way',
        async () => {
          await time.pass(50);
          return got.received.length + got.counts.dropped >= written;
        },
        5000,
      ).catch(() => undefined);
      const shown = got.received.length;
      assert.equal(
        shown + got.counts.dropped,
        written,
        `${shown} of ${written} lines shown, ${who} without ${outage.name}`,
      );
    }
  }
  running.end();
}

test('lines shown and lines counted are all that were written, whichever way Redis is cut off', {
  skip: whyNoRedis(),
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  await allAreAccountedFor(t, () => behindProxy(t, redis, (url) => createRedisStore({ url })));
});

test('the same with PostgreSQL', { skip: whyNoPostgres() }, async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.close());
  await allAreAccountedFor(t, () => behindProxy(t, postgres, (url) => createPostgresStore({ url })));
});

test('the same while a file is locked', async (t) => {
  const folder = newFolder(t);
  const path = join(folder, 'state.db');
  await allAreAccountedFor(t, async () => {
    const store = createSqliteStore(path);
    await store.load();
    const other = new DatabaseSync(path);
    t.after(() => other.close());
    const lock = { name: 'the file', begin: () => other.exec('BEGIN IMMEDIATE'), end: () => other.exec('COMMIT') };
    return { store, outages: [lock] };
  });
});
