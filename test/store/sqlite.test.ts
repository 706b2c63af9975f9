import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { stateStoreContract } from './contract/contract.ts';
import { auditEntry, auditIds, change } from './contract/samples.ts';
import type { StoreFixture } from './contract/suite.ts';

async function createFixture(): Promise<StoreFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-sqlite-'));
  const opened: StateStore[] = [];
  return {
    async open() {
      const store = createSqliteStore(join(folder, 'state.db'));
      opened.push(store);
      return store;
    },
    async dispose() {
      for (const store of opened) await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

stateStoreContract('sqlite', true, createFixture);

test('of a commit whose entry cannot be written nothing is kept', async (t) => {
  const fixture = await createFixture();
  t.after(() => fixture.dispose());
  const store = await fixture.open();
  const unwritable = { ...auditEntry(), action: null } as unknown as AuditEntry;
  await assert.rejects(store.commit({ ...change('acme', 0, { A: { permanent: true } }), audit: unwritable }));
  assert.equal((await store.load()).size, 0);
  assert.deepEqual(await auditIds(store), []);
});
