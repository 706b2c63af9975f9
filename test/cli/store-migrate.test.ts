import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { chain } from '../audit/entries.ts';
import { blocksOf } from '../documents/blocks.ts';
import { auditEntry, NOW } from '../store/contract/samples.ts';
import { PATIENCE_MS } from '../store/follower.ts';
import { startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { rdcp, saying } from './run.ts';

test('rdcp store migrate makes the schema once, and audit verify checks the trail in it', {
  skip: whyNoPostgres(),
}, async (t) => {
  const server = await startPostgres();
  t.after(() => server.close());
  const url = `${server.url}?schema=shop`;
  const says = saying(rdcp);
  await says('store migrate', 'Schema shop: version 2, new.\n', { env: { RDCP_STORE: url }, err: '' });
  await says(`store migrate --store ${url}`, 'Schema shop: nothing to do, it has version 2.\n');

  const store = createPostgresStore({ url, deadlineMs: PATIENCE_MS });
  const [first, second] = chain('a', 2);
  for (const audit of [first, second]) await store.commit({ audit: audit as AuditEntry, now: NOW });
  const shown = server.sql('SELECT position, action, categories, user_id, sequence FROM shop.trail ORDER BY position');
  assert.deepEqual(shown.split('\n').length, 2);
  // The statements of the documents, on the schema of this test.
  for (const { place, code } of blocksOf('sql')) {
    assert.doesNotThrow(() => server.sql(code.replaceAll('rdcp.', 'shop.')), place);
  }
  await says(`audit verify --store ${url}`, 'The trail is whole: 2 entries of 1 process.\n');
  await store.commit({
    audit: auditEntry({ compliance: { ...(second as AuditEntry).compliance, sequence: 9 } }),
    now: NOW,
  });
  await store.close();
  await says(`audit verify --store ${url}`, undefined, { code: 1 });

  server.sql('UPDATE shop.schema_version SET version = 99');
  for (const [store, code, err] of [
    [url, 1, /the schema shop was made by a newer release/],
    [url.replace('correct%20horse', 'wrong'), 1, 'rdcp: the store cannot be reached (the password is wrong)\n'],
    ['redis://host', 2, 'rdcp: --store must be postgres://USER@HOST/DATABASE\n'],
  ] as const) {
    await says(`store migrate --store ${store}`, '', { code, err });
  }
});
