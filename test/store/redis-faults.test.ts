import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import type { ScopeState } from '../../src/store/state-store.ts';
import { auditEntry, change, NOW, replayRecord, until } from './contract/samples.ts';
import { CONVERGED_MS, eventually, type Follower, follow, rejectsSoon } from './follower.ts';
import { onRedis } from './on-redis.ts';
import { startProxy } from './proxy.ts';
import { breakingConnections } from './redis-breaking.ts';
import { whyNoRedis } from './redis-server.ts';
import { eventuallyRejects, survivesItsServer } from './server-faults.ts';

const missing = whyNoRedis();
describe('the Redis store', { skip: missing }, () => {
  const place = onRedis();
  afterEach(async () => {
    place.server.thaw();
    await place.server.kill();
    place.server.wipe();
    await place.server.start();
  });

  /** With what was saved. */
  async function restart(): Promise<void> {
    await place.server.kill();
    await place.server.start();
  }

  const open = (url = place.server.url): Promise<Follower> => follow(place.open({ url }));

  survivesItsServer({
    server: () => place.server,
    save: () => place.server.save(),
    lose: restart,
    async backUp() {
      place.server.save();
      return restart;
    },
    open: (options) => place.open(options),
    program: (deadlineMs) =>
      `createRedisStore(${JSON.stringify({ url: place.server.url, prefix: place.prefix, deadlineMs })})`,
  });

  test('a process that was away learns of an old copy that others have written to', async (t) => {
    const proxy = await startProxy(place.server.port);
    t.after(() => proxy.close());
    const away = await open(place.server.url.replace(/\d+$/, String(proxy.port)));
    const near = await open();
    await near.store.commit(change('acme', 0, { A: { permanent: true } }));
    place.server.save();
    await near.store.commit(change('acme', 1, { LOST: { permanent: true } }));
    await until(() => away.heard.get('acme')?.revision === 2, 'the change that will be lost');
    await near.store.close();
    await proxy.cut();
    await place.server.kill();
    await place.server.start();

    // A process that knows nothing of the lost change takes its place by two others: the count alone shows no loss.
    const fresh = await open();
    await eventually(() => fresh.store.commit(change('acme', 1, { B: { permanent: true } })));
    await fresh.store.commit(change('other', 0, { C: { permanent: true } }));
    await proxy.mend();

    await until(() => away.resets.length > 0, 'word of the reset', CONVERGED_MS);
    assert.deepEqual(away.resets, [{ reason: 'rollback' }]);
    assert.deepEqual([...((await away.store.load()).get('acme') as ScopeState).settings.keys()], ['B']);
  });

  test('a commit on a history that Redis lost does not take effect before the loss was reported', async () => {
    const { store, resets } = await open();
    await store.commit(change('acme', 0, {}));
    await until(() => place.server.command('EXISTS', `${place.prefix}{rdcp}:meta`) === '1', 'the state');
    // Emptied without a break of the connection: nothing but the commit itself can notice.
    place.server.command('FLUSHALL');
    await assert.rejects(store.commit(change('other', 0, { A: { permanent: true } })), /lost changes/);
    assert.deepEqual(resets, [{ reason: 'empty' }]);
    assert.equal((await store.load()).size, 0);
    assert.equal((await store.commit(change('other', 0, {}))).outcome, 'committed');
  });

  test('a changed password is answered by rejections; with the old one back all is as before', async () => {
    const [a, b] = [await open(), await open()];
    await a.store.commit(change('acme', 0, {}));
    place.server.command('CONFIG', 'SET', 'requirepass', 'battery staple');
    for (const kind of ['pubsub', 'normal'])
      place.server.command('-a', 'battery staple', 'CLIENT', 'KILL', 'TYPE', kind);
    await rejectsSoon(eventuallyRejects(() => a.store.commit({ audit: auditEntry(), now: NOW })));

    place.server.command('-a', 'battery staple', 'CONFIG', 'SET', 'requirepass', 'correct horse');
    const result = await eventually(() => a.store.commit(change('acme', 1, {})));
    assert.equal(result.outcome, 'committed');
    await until(() => b.heard.get('acme')?.revision === 2, 'the change after the password was put back', CONVERGED_MS);
    assert.deepEqual([a.resets, b.resets], [[], []]);
  });

  test('every key is in one slot of a cluster', async () => {
    const { store } = await open();
    await store.commit(change('acme', 0, { A: { permanent: true } }, { replay: replayRecord() }));
    const keys = place.server.command('--scan').split('\n');
    assert.ok(keys.length >= 7, keys.join(' '));
    for (const name of keys) assert.ok(name.startsWith(`${place.prefix}{rdcp}:`), name);
  });
});

breakingConnections({ processes: 3, toggles: 24 });
