import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqliteStore } from '../../src/store/sqlite.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { type StoreFixture, stateStoreContract } from './contract.ts';

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

stateStoreContract('sqlite', true, createFixture, { together: true });
