import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createRdcp, type StateStore } from 'opentelemetry-instrumentation-rdcp';
import { openJournalStore } from '../../examples/own-store/journal-store.ts';
import { hashApiKey } from '../../src/access/api-key.ts';
import { stateStoreContract } from '../store/contract/contract.ts';
import { change, NOW } from '../store/contract/samples.ts';
import { newFolder } from '../support/folder.ts';

const KEY = 'a-key-of-this-test-alone-and-no-other';

async function create() {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-own-store-'));
  const store = await openJournalStore(join(directory, 'journal'));
  return {
    open: async () => store,
    async dispose() {
      await store.close();
      rmSync(directory, { recursive: true });
    },
  };
}

stateStoreContract('the example of a store of your own', false, create, { records: false });

test('its state survives a restart, a half-written line and a prune', async (t) => {
  const path = join(newFolder(t), 'journal');
  const first = await openJournalStore(path);
  await first.commit(change('acme', 0, { A: { permanent: true } }));
  await first.close();
  appendFileSync(path, '{"scope":{"key":"acme","rev');

  const second = await openJournalStore(path);
  await second.commit(change('acme', 1, { A: { permanent: false } }));
  assert.equal(await second.pruneAudit(NOW + 91 * 86_400_000), 2);
  await second.close();
  assert.equal(readFileSync(path, 'utf8').split('\n').length, 2);
  assert.equal(statSync(path).mode & 0o777, 0o600);

  const third = await openJournalStore(path);
  const { revision, settings } = (await third.load()).get('acme') ?? {};
  await third.close();
  assert.deepEqual([revision, settings?.get('A')], [2, { permanent: false }]);
});

test('a service keeps in it what is switched', async (t) => {
  const path = join(newFolder(t), 'journal');
  const serve = async (store: StateStore) => {
    const apiKeys = [{ id: 'k', hash: hashApiKey(KEY), clientId: 'k', scopes: ['status', 'control'] as const }];
    const rdcp = createRdcp({ server: { port: 0 }, security: { apiKeys }, announce: false, store });
    rdcp.category('DATABASE');
    const { url } = await rdcp.listen();
    const ask = async (path: string, init?: RequestInit) => {
      const headers = { 'X-RDCP-API-Key': KEY, 'Content-Type': 'application/json' };
      return (await (await fetch(`${url}${path}`, { headers, ...init })).json()) as Record<string, unknown>;
    };
    return { rdcp, ask };
  };

  const before = await openJournalStore(path);
  const first = await serve(before);
  const body = JSON.stringify({ action: 'enable', categories: ['DATABASE'], options: { temporary: false } });
  assert.equal((await first.ask('/rdcp/v1/control', { method: 'POST', body })).status, 'success');
  await first.rdcp.close();
  await before.close();

  const after = await openJournalStore(path);
  const second = await serve(after);
  assert.deepEqual((await second.ask('/rdcp/v1/status')).categories, { DATABASE: true });
  await second.rdcp.close();
  await after.close();
});
