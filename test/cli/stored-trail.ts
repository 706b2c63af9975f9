import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { hashOf } from '../../src/trail/chain.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { newFolder } from '../support/folder.ts';
import { rdcp } from './run.ts';

/** What `rdcp audit verify` says of a SQLite file with these entries, after the statement in {@link sql} if there is one. */
export async function verifyFile(
  t: TestContext,
  entries: readonly AuditEntry[],
  options: readonly string[] = [],
  sql = '',
) {
  const file = join(newFolder(t), 'state.db');
  const store = createSqliteStore(file);
  for (const audit of entries) await store.commit({ audit, now: 0 });
  await store.close();
  if (sql !== '') {
    const database = new DatabaseSync(file);
    database.exec(sql);
    database.close();
  }
  return rdcp(['audit', 'verify', '--store', `sqlite:${file}`, ...options]);
}

/** Verifies entries that are not whole; each of the patterns is found in what is said about them. */
export async function assertFault(
  t: TestContext,
  entries: readonly AuditEntry[],
  faults: RegExp | readonly RegExp[],
  options: readonly string[] = [],
  sql = '',
) {
  const { code, stdout } = await verifyFile(t, entries, options, sql);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^The trail is NOT whole: /);
  for (const fault of [faults].flat() as readonly RegExp[]) assert.match(stdout, fault);
}

/** Verifies entries that are whole, as far as can be seen. */
export async function assertWhole(t: TestContext, entries: readonly AuditEntry[], options: readonly string[] = []) {
  const { code, stdout, stderr } = await verifyFile(t, entries, options);
  assert.equal(code, 0, stdout);
  return { stdout, stderr };
}

export const find = (entries: readonly AuditEntry[], instanceId: string, sequence: number) =>
  entries.find(
    ({ compliance }) => compliance.instanceId === instanceId && compliance.sequence === sequence,
  ) as AuditEntry;

/** A chain resealed from an entry on, as write access to the store allows. */
export function resealed(entries: readonly AuditEntry[], instanceId: string, from: number): AuditEntry[] {
  let { previousHash } = find(entries, instanceId, from).compliance;
  return entries.map((entry) => {
    if (entry.compliance.instanceId !== instanceId || entry.compliance.sequence < from) return entry;
    const changed = { ...entry, reason: 'nothing happened', compliance: { ...entry.compliance, previousHash } };
    previousHash = hashOf(changed);
    return { ...changed, compliance: { ...changed.compliance, hash: previousHash } };
  });
}
