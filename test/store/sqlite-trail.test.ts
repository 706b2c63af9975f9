import assert from 'node:assert/strict';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { AuditQuery } from '../../src/store/state-store.ts';
import { hashOf } from '../../src/trail/chain.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { chain } from '../audit/entries.ts';
import { newFolder } from '../support/folder.ts';
import { inFull } from '../support/tiers.ts';
import { appendAudit, auditEntry, NOW } from './contract/samples.ts';
import { tamper } from './tamper.ts';

inFull('filters that find nothing in a long trail leave the event loop to others, however many ask', async (t) => {
  const file = join(newFolder(t), 'state.db');
  const store = createSqliteStore(file);
  t.after(() => store.close());
  await appendAudit(store, [auditEntry()]);
  const entry = JSON.stringify(auditEntry()).replaceAll("'", "''");
  tamper(
    file,
    `PRAGMA synchronous = OFF; BEGIN;
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
       INSERT INTO audit (at, action, outcome, client, retain_until, entry)
       SELECT ${NOW} + i, 'enable', 'success', 'console', ${NOW}, '${entry}' FROM n;
     INSERT INTO audit_category SELECT position, 'DATABASE' FROM audit WHERE position > 1; COMMIT`,
  );
  const nothing: Partial<AuditQuery>[] = [
    { client: 'nobody' },
    { category: 'NOTHING' },
    { category: 'DATABASE', client: 'nobody' },
    { client: 'console', outcome: 'denied' },
    { action: 'reset', category: 'DATABASE' },
    { tenant: 'acme', since: NOW },
    { since: NOW + 100_000, until: NOW + 150_000, outcome: 'failed' },
    { until: NOW },
  ];
  let turns = 0;
  let asking = true;
  (function turn(): void {
    turns += 1;
    if (asking) setImmediate(turn);
  })();
  const pages = await Promise.all(nothing.map((query) => store.queryAudit({ limit: 100, ...query })));
  asking = false;
  for (const page of pages) assert.deepEqual(page, { entries: [] });
  // No turn looks at more than 2,000 entries, for all of them together.
  assert.ok(turns >= nothing.length * 99, `${turns} turns of the event loop`);
});

const changes: Readonly<Record<string, string>> = {
  'it is found by another time': 'UPDATE audit SET at = at + 1',
  'it is found by a time that no clock has': 'UPDATE audit SET at = 9223372036854775807',
  'it is found by another action': "UPDATE audit SET action = 'reset'",
  'it is found by another outcome': "UPDATE audit SET outcome = 'failed'",
  'it is found by another client': "UPDATE audit SET client = 'somebody'",
  'it is found by no client': 'UPDATE audit SET client = NULL',
  'it is found by another tenant': "UPDATE audit SET tenant = 'other'",
  'it is found by no tenant': 'UPDATE audit SET tenant = NULL',
  'it is dropped at another time': 'UPDATE audit SET retain_until = -9223372036854775807',
  'it is not found by its category': 'DELETE FROM audit_category',
  'it is found by one more category': "INSERT INTO audit_category SELECT position, 'OTHER' FROM audit",
  'it has another time than it is found by': set('$.timestamp', '2026-01-01T00:00:00.001Z'),
  'it has another action than it is found by': set('$.action', 'reset'),
  'it has another client than it is found by': set('$.identity.clientId', 'somebody'),
  'it has another tenant than it is found by': set('$.tenant.id', 'other'),
  'it has another category than it is found by': set('$.categories[0]', 'OTHER'),
  'it has another retention': set('$.compliance.retainUntil', '2026-04-01T00:00:00.001Z'),
};
function set(path: string, value: string): string {
  return `UPDATE audit SET entry = json_set(entry, '${path}', '${value}')`;
}
for (const [what, sql] of Object.entries(changes)) {
  test(`an entry is not what was sealed any more when ${what}`, async (t) => {
    const file = join(newFolder(t), 'state.db');
    const store = createSqliteStore(file);
    t.after(() => store.close());
    const [entry] = chain('a', 1) as [AuditEntry];
    await appendAudit(store, [entry]);
    tamper(file, sql);
    const { entries } = await store.queryAudit({ limit: 1 });
    const [found] = entries as [AuditEntry];
    assert.equal(found.id, entry.id);
    assert.notEqual(hashOf(found), found.compliance.hash);
  });
}

for (const json of ['', 'nothing', 'null', '5', '[]', '{}', '{"id":"a-2","compliance":null}']) {
  test(`an entry that was overwritten with ${json || 'nothing at all'} hides no other`, async (t) => {
    const file = join(newFolder(t), 'state.db');
    const store = createSqliteStore(file);
    t.after(() => store.close());
    const entries = chain('a', 3);
    await appendAudit(store, entries);
    tamper(file, `UPDATE audit SET entry = '${json}' WHERE position = 2`);
    const page = await store.queryAudit({ limit: 10 });
    assert.deepEqual([page.entries[0], page.entries[2]], [entries[2], entries[0]]);
    const remains = page.entries[1] as AuditEntry;
    assert.match(remains.id, /^(position-2|a-2)$/);
    assert.equal(remains.timestamp, entries[1]?.timestamp);
    assert.notEqual(hashOf(remains), remains.compliance.hash);
    assert.deepEqual((await store.queryAudit({ limit: 10, client: 'console' })).entries.length, 3);
  });
}

/** Prunes while another process writes; returns for how many milliseconds that held the event loop. */
async function pruneBesideWriter(t: TestContext): Promise<number> {
  const file = join(newFolder(t), 'state.db');
  const store = createSqliteStore(file);
  t.after(() => store.close());
  await appendAudit(store, [
    ...Array.from({ length: 700 }, () => auditEntry({ retainUntil: NOW })),
    auditEntry({ id: 'kept' }),
  ]);
  const other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  const began = performance.eventLoopUtilization();
  const pruned = store.pruneAudit(NOW);
  let ended = false;
  void pruned.then(() => {
    ended = true;
  });
  for (let turns = 0; turns < 20; turns += 1) await new Promise((proceed) => setTimeout(proceed, 1));
  const { active } = performance.eventLoopUtilization(began);
  assert.equal(ended, false);
  other.exec('COMMIT');
  other.close();
  assert.equal(await pruned, 700);
  assert.deepEqual(
    (await store.queryAudit({ limit: 10 })).entries.map(({ id }) => id),
    ['kept'],
  );
  return active;
}

test('a prune does not wait for another process that writes: it goes on when that is done', async (t) => {
  // One that waits for the lock takes 200 ms every time; a busy machine holds the event loop only some of them.
  const held: number[] = [];
  while (held.length < 5 && !held.some((active) => active < 150)) held.push(await pruneBesideWriter(t));
  assert.ok(Math.min(...held) < 150, `the event loop was held for ${held.map(Math.round)} ms`);
});

test('a prune ends when its store is closed', async (t) => {
  const store = createSqliteStore(join(newFolder(t), 'state.db'));
  await appendAudit(
    store,
    Array.from({ length: 700 }, () => auditEntry({ retainUntil: NOW })),
  );
  const alive = setInterval(() => undefined, 1000);
  t.after(() => clearInterval(alive));
  const pruned = store.pruneAudit(NOW);
  await new Promise((proceed) => setImmediate(proceed));
  await store.close();
  assert.ok((await pruned) < 700);
});
