import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { stateStoreContract } from './contract/contract.ts';
import { appendAudit, auditEntry, auditIds, everyEntry, NOW, replayRecord } from './contract/samples.ts';
import { fixtureOf } from './contract/suite.ts';

stateStoreContract('memory', false, async () => {
  const store = createMemoryStore();
  return fixtureOf(() => store);
});

test('refusals push out refusals alone', async () => {
  const store = createMemoryStore({ maxAuditEntries: 50 });
  const [own, ...flood] = Array.from({ length: 1001 }, (_, index) =>
    auditEntry({ outcome: index === 0 ? 'success' : 'denied' }),
  );
  const last = auditEntry();
  await appendAudit(store, [own as AuditEntry, ...flood, last]);
  const expected = [last, ...flood.slice(-10).toReversed(), own as AuditEntry].map(({ id }) => id);
  assert.deepEqual(await auditIds(store), expected);
  const [first] = (await store.queryAudit({ limit: 1, outcome: 'success' })).entries;
  assert.equal(first?.id, last.id);
});

test('the oldest audit entries make room for new ones', async () => {
  const store = createMemoryStore({ maxAuditEntries: 4 });
  const entries = Array.from({ length: 11 }, () => auditEntry());
  for (const [index, entry] of entries.entries()) {
    await appendAudit(store, [entry]);
    const expected = entries.slice(Math.max(0, index - 3), index + 1).toReversed();
    assert.deepEqual(
      await auditIds(store),
      expected.map(({ id }) => id),
    );
  }
});

test('a cursor still works when entries were dropped under it', async () => {
  const store = createMemoryStore({ maxAuditEntries: 5 });
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

test('the trail and the kept answers stay within the bytes allowed, the newest entry always there', async () => {
  const maxBytes = 1024 * 1024;
  const store = createMemoryStore({ maxBytes });
  const reason = 'x'.repeat(100_000);
  for (let index = 0; index < 40; index++) {
    const entry = auditEntry({ reason });
    await store.commit({ audit: entry, replay: replayRecord({ key: `${index}`, response: reason }), now: NOW });
    assert.equal((await store.newestAudit())?.id, entry.id);
  }
  const entries = await everyEntry(store);
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => store.findReplay(`${index}`, NOW)));
  const kept = entries.length + answers.filter((answer) => answer !== undefined).length;
  assert.ok(kept * 100_000 <= maxBytes, `${kept} of 100 kB are kept`);
  assert.ok(entries.length >= 5, `${entries.length} entries are kept`);
  assert.ok(answers[39] !== undefined, 'the newest answer is kept');
});

test('one entry larger than all that is allowed is kept alone', async () => {
  const store = createMemoryStore({ maxBytes: 1024 * 1024 });
  await appendAudit(store, [auditEntry(), auditEntry({ reason: 'x'.repeat(2_000_000) })]);
  assert.equal((await everyEntry(store)).length, 1);
});

test('an answer is dropped once it has expired', async () => {
  const store = createMemoryStore({ maxReplays: 2 });
  const commit = (key: string, now: number) =>
    store.commit({ audit: auditEntry(), replay: replayRecord({ key, expiresAt: now + 300_000 }), now });
  await commit('over', NOW);
  await commit('kept', NOW + 200_000);
  await commit('new', NOW + 300_000);
  assert.equal((await store.findReplay('kept', NOW + 300_000))?.key, 'kept');
  assert.equal(await store.findReplay('over', NOW), undefined);
});

test('refusals and other entries whose retention is over are dropped together', async () => {
  const store = createMemoryStore();
  const ended = { compliance: { ...auditEntry().compliance, retainUntil: new Date(NOW - 1).toISOString() } } as object;
  const outcomes = ['denied', 'success', 'denied', 'success', 'success', 'denied'] as const;
  const entries = outcomes.map((outcome) => auditEntry({ outcome, ...ended }));
  const kept = auditEntry({ outcome: 'denied' });
  await appendAudit(store, [...entries, kept]);
  assert.equal(await store.pruneAudit(NOW), entries.length);
  assert.deepEqual(await auditIds(store), [kept.id]);
});
