import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { copyState, openStore } from '../../src/store/open.ts';
import type { Setting, StateStore } from '../../src/store/state-store.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { appendAudit, auditEntry, auditIds, change, NOW } from './contract/samples.ts';

test('memory: is a memory store of its own each time', () => {
  assert.equal(openStore('memory:').name, 'memory');
  assert.notEqual(openStore('memory:'), openStore('memory:'));
});

test('a store of the application is used as it is', () => {
  const store = createMemoryStore();
  assert.equal(openStore(store), store);
});

for (const store of [
  '',
  'memory',
  'sqlite:',
  'sqlite:a\0b',
  'sqlite',
  'mysql://host',
  'SQLITE:file',
  ' memory:',
  'redis:',
  'redis://',
  'rediss://:99999',
  'redis://host/zero',
  'redis://user:50%@host',
  'rediss:host',
  'postgres:',
  'postgres://:99999',
  'postgres://user:50%@host',
  'postgres://host/db?sslmode=verify-full&sslrootcert=/not/there',
  'postgres://host/db?schema=x%22y',
]) {
  test(`${JSON.stringify(store)} is refused in one line that names the field`, () => {
    assert.throws(
      () => openStore(store),
      (error) => {
        assert.ok(isRdcpError(error));
        assert.equal(error.code, 'RDCP_CONFIG_INVALID');
        assert.equal(error.details?.field, 'store');
        assert.match(error.message, /^configuration: store: .+$/);
        return true;
      },
    );
  });
}

test('a process that joins others brings the settings and the trail that it had, and replaces none of theirs', async () => {
  const [own, shared] = [createMemoryStore(), createMemoryStore()];
  const on: Setting = { permanent: true };
  const off: Setting = { permanent: false };
  await own.commit(change('acme', 0, { DATABASE: on }));
  await own.commit(change('beta', 0, { DATABASE: on }));
  await appendAudit(own, [auditEntry({ outcome: 'denied' })]);
  await shared.commit(change('beta', 0, { DATABASE: off }));
  const [before, [known]] = [await auditIds(own), await auditIds(shared)];
  await copyState(own, shared, NOW);
  const settingsOf = async (store: StateStore) =>
    [...(await store.load())].map(([scope, { settings }]) => [scope, Object.fromEntries(settings)]).sort();
  assert.deepEqual(await settingsOf(shared), [
    ['acme', { DATABASE: on }],
    ['beta', { DATABASE: off }],
  ]);
  assert.deepEqual(await auditIds(shared), [...before, known]);
});
