import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openJournalStore } from '../../examples/own-store/journal-store.ts';
import { stateStoreContract } from '../store/contract/contract.ts';
import { change, NOW } from '../store/contract/samples.ts';
import { newFolder } from '../support/folder.ts';

async function create() {
  const store = await openJournalStore(join(newFolder(), 'journal'));
  return { open: async () => store, dispose: () => store.close() };
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
