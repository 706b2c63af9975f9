import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory.ts';
import { type StoreFixture, stateStoreContract } from './contract.ts';
import { appendAudit, auditEntry, auditIds, NOW, replayRecord } from './samples.ts';

async function createFixture(): Promise<StoreFixture> {
  const store = createMemoryStore();
  return { open: async () => store, dispose: () => store.close() };
}

stateStoreContract('memory', false, createFixture, { together: true });

test('the oldest audit entries make room for new ones', async () => {
  const store = createMemoryStore({ maxAuditEntries: 3 });
  const entries = Array.from({ length: 11 }, () => auditEntry());
  for (const [index, entry] of entries.entries()) {
    await appendAudit(store, [entry]);
    const expected = entries.slice(Math.max(0, index - 2), index + 1).toReversed();
    assert.deepEqual(
      await auditIds(store),
      expected.map(({ id }) => id),
    );
  }
});

test('a cursor still works when entries were dropped under it', async () => {
  const store = createMemoryStore({ maxAuditEntries: 4 });
  await appendAudit(
    store,
    Array.from({ length: 4 }, () => auditEntry()),
  );
  const { next } = await store.queryAudit({ limit: 2 });
  await appendAudit(store, [auditEntry(), auditEntry(), auditEntry()]);
  assert.deepEqual(await store.queryAudit({ limit: 2, cursor: next as string }), { entries: [] });
});

test('the oldest replay records make room for new ones', async () => {
  const store = createMemoryStore({ maxReplays: 2 });
  for (const key of ['a', 'b', 'c'])
    await store.commit({ audit: auditEntry(), replay: replayRecord({ key }), now: NOW });
  assert.equal(await store.findReplay('a', NOW), undefined);
  assert.equal((await store.findReplay('b', NOW))?.key, 'b');
  assert.equal((await store.findReplay('c', NOW))?.key, 'c');
});
