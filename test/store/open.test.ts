import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { openStore } from '../../src/store/open.ts';
import { isRdcpError } from '../../src/wire/errors.ts';

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
