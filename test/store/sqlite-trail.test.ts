import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { hashOf } from '../../src/audit/chain.ts';
import type { AuditEntry } from '../../src/protocol/messages.ts';
import { createSqliteStore } from '../../src/store/sqlite.ts';
import type { AuditQuery } from '../../src/store/state-store.ts';
import { chain } from '../audit/entries.ts';
import { appendAudit, auditEntry, NOW } from './samples.ts';

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'rdcp-sqlite-trail-'));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

/** Changes a file as somebody does who may write it. */
function tamper(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

test('filters that find nothing in a long trail leave the event loop to others, however many ask', async (t) => {
  const file = join(folder(t), 'state.db');
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
  // No turn looks at more than 10,000 entries, for all of them together.
  assert.ok(turns >= nothing.length * 19, `${turns} turns of the event loop`);
});

const changes: Readonly<Record<string, string>> = {
  'the time': 'UPDATE audit SET at = at + 1',
  'a time that no clock has': 'UPDATE audit SET at = 9223372036854775807, retain_until = -9223372036854775807',
  'the action': "UPDATE audit SET action = 'reset'",
  'the outcome': "UPDATE audit SET outcome = 'failed'",
  'the client': "UPDATE audit SET client = 'somebody'",
  'the client, to none': 'UPDATE audit SET client = NULL',
  'the tenant': "UPDATE audit SET tenant = 'other'",
  'the tenant, to none': 'UPDATE audit SET tenant = NULL',
  'the end of retention': 'UPDATE audit SET retain_until = retain_until - 1',
  'a category, taken out': 'DELETE FROM audit_category',
  'a category, put in': "INSERT INTO audit_category SELECT position, 'OTHER' FROM audit",
};
for (const [what, sql] of Object.entries(changes)) {
  test(`${what} that an entry is found by is part of what its hash tells of`, async (t) => {
    const file = join(folder(t), 'state.db');
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
    const file = join(folder(t), 'state.db');
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
