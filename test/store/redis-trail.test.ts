import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { createVerifier } from '../../src/trail/verify.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { chain } from '../audit/entries.ts';
import { appendAudit, auditIds } from './contract/samples.ts';
import { PATIENCE_MS } from './follower.ts';
import { startRedis, whyNoRedis } from './redis-server.ts';

const STREAM = '{rdcp}:audit';

async function opened(t: TestContext) {
  const server = await startRedis();
  const store = createRedisStore({ url: server.url, deadlineMs: PATIENCE_MS });
  t.after(async () => {
    await store.close();
    await server.close();
  });
  return { server, store };
}

test('an entry of the stream that cannot be read hides no other, is named, and outlives a prune', {
  skip: whyNoRedis(),
}, async (t) => {
  const { server, store } = await opened(t);
  const [first, second, third] = chain('a', 3) as [AuditEntry, AuditEntry, AuditEntry];
  await appendAudit(store, [first, second]);
  const bad = ['nothing', 'null', '{"id":"x","identity":null}', JSON.stringify({ ...third, compliance: {} })].map(
    (entry) => server.command('XADD', STREAM, '*', 'entry', entry),
  );
  server.command('XADD', STREAM, '*', 'other', 'field');
  await appendAudit(store, [third]);

  await store.pruneAudit(Date.parse(first.timestamp));
  const ids = await auditIds(store);
  assert.deepEqual(ids.slice(2, 6), [third.id, 'x', bad[1], bad[0]]);
  assert.deepEqual([ids[0], ids.length], [third.id, 8]);
  assert.equal((await store.queryAudit({ limit: 10, client: 'console' })).entries.length, 3);

  const verifier = createVerifier();
  for (const entry of (await store.queryAudit({ limit: 10 })).entries) verifier.see(entry);
  const { faults, first: fault } = verifier.finish();
  assert.deepEqual([faults, fault?.entry.id, fault?.problem], [5, bad[0], 'hash']);
});
