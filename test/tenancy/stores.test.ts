import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createNamespacedStore, createProcessStore } from '../../src/control/tenancy/isolation.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { GLOBAL_SCOPE, type StateStore } from '../../src/store/state-store.ts';
import { stateStoreContract } from '../store/contract/contract.ts';
import { auditEntry, auditIds, change, NOW, replayRecord, until } from '../store/contract/samples.ts';
import { fixtureOf } from '../store/contract/suite.ts';
import { newFolder } from '../support/folder.ts';
import { fleetOf } from '../support/on-records.ts';

stateStoreContract('the part of a namespace', true, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-namespace-'));
  return fixtureOf(
    () => createNamespacedStore(createSqliteStore(join(folder, 'state.db')), 'staging'),
    () => rmSync(folder, { recursive: true }),
  );
});

stateStoreContract('the part of a process', false, async () => {
  const store = createProcessStore(createMemoryStore());
  return fixtureOf(() => store);
});

test('the processes of a namespace see each other, and those of no other', async (t) => {
  const file = join(newFolder(t), 'state.db');
  const [a, b] = ['a', 'b'].map((name) => createNamespacedStore(createSqliteStore(file), name));
  assert.ok(a && b);
  t.after(async () => {
    await a.close();
    await b.close();
  });
  const instance = { host: 'h', pid: 1, service: 's', startedAt: NOW };
  await fleetOf(a).announce({ ...instance, id: 'one' }, undefined);
  await fleetOf(b).announce({ ...instance, id: 'two' }, undefined);
  const seen = async (store: StateStore) => (await fleetOf(store).look())?.instances.map(({ id }) => id);
  assert.deepEqual([await seen(a), await seen(b)], [['one'], ['two']]);
  await fleetOf(a).withdraw('two');
  await fleetOf(b).withdraw('two');
  assert.deepEqual([await seen(a), await seen(b)], [['one'], []]);
});

describe('namespaces in one store', () => {
  const open = () => {
    const whole = createMemoryStore();
    return { whole, a: createNamespacedStore(whole, 'a'), b: createNamespacedStore(whole, 'b') };
  };

  test('keep tenants and global settings apart', async () => {
    const { whole, a, b } = open();
    await a.commit(change('acme', 0, { DATABASE: { permanent: true } }));
    await a.commit(change(GLOBAL_SCOPE, 0, { HTTP: { permanent: true } }));
    assert.deepEqual([...(await a.load()).keys()], ['acme', GLOBAL_SCOPE]);
    assert.deepEqual([...(await b.load()).keys()], []);
    assert.deepEqual([...(await whole.load()).keys()], ['a/acme', `a/${GLOBAL_SCOPE}`]);
  });

  test('keep the answers to repeats apart, under keys that the caller knows', async () => {
    const { a, b } = open();
    const replay = replayRecord();
    await a.commit({ audit: auditEntry(), replay, now: NOW });
    assert.deepEqual(await a.findReplay(replay.key, NOW), replay);
    assert.equal(await b.findReplay(replay.key, NOW), undefined);
    const again = await a.commit({ audit: auditEntry(), replay, now: NOW });
    assert.deepEqual(again, { outcome: 'replayed', replay });
    assert.deepEqual(await b.commit({ audit: auditEntry(), replay, now: NOW }), { outcome: 'committed' });
  });

  test('hear of their own changes alone', async (t) => {
    const file = join(newFolder(t), 'state.db');
    const stores = ['a', 'b', 'a'].map((name) => createNamespacedStore(createSqliteStore(file), name));
    t.after(async () => {
      for (const store of stores) await store.close();
    });
    const [listening, foreign, near] = stores as [StateStore, StateStore, StateStore];
    const heard: string[] = [];
    await listening.load();
    listening.subscribe((key) => heard.push(key));
    await foreign.commit(change('acme', 0, { DATABASE: { permanent: true } }));
    await near.commit(change('beta', 0, { DATABASE: { permanent: true } }));
    await until(() => heard.includes('beta'), 'the change of the same namespace');
    assert.deepEqual(new Set(heard), new Set(['beta']));
  });
});

describe('the state of a process', () => {
  test('is in no other process, while the trail is in the store', async () => {
    const shared = createMemoryStore();
    const [one, other] = [createProcessStore(shared), createProcessStore(shared)];
    const commit = change('acme', 0, { DATABASE: { permanent: true } });
    await one.commit(commit);
    assert.deepEqual([...(await one.load()).keys()], ['acme']);
    assert.deepEqual([...(await other.load()).keys()], []);
    assert.deepEqual([...(await shared.load()).keys()], []);
    assert.deepEqual(await auditIds(other), [commit.audit.id]);
  });

  test('does not change when the entry cannot be written', async () => {
    const shared = createMemoryStore();
    const store = createProcessStore({ ...shared, commit: () => Promise.reject(new Error('the disk is full')) });
    const replay = replayRecord();
    await assert.rejects(store.commit({ ...change('acme', 0, { DATABASE: { permanent: true } }), replay }));
    assert.equal((await store.load()).size, 0);
    assert.equal(await store.findReplay(replay.key, NOW), undefined);
  });

  test('is not read while its trail cannot be', async () => {
    const shared = createMemoryStore();
    const store = createProcessStore(shared);
    await shared.close();
    await assert.rejects(store.load());
  });
});
