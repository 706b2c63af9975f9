import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { openStore } from '../../src/store/open.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { inFull } from '../support/tiers.ts';

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

inFull('a redis URL without the package redis installed is refused, and says what to install', () => {
  const root = join(import.meta.dirname, '../..');
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-no-redis-'));
  try {
    cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true });
    mkdirSync(join(folder, 'node_modules'));
    for (const installed of ['@opentelemetry', 'lru-cache', 'zod']) {
      symlinkSync(join(root, 'node_modules', installed), join(folder, 'node_modules', installed));
    }
    const script = `
      const { openStore } = await import(${JSON.stringify(join(folder, 'src/store/open.ts'))});
      openStore('memory:');
      try { openStore('redis://127.0.0.1'); } catch ({ code, message }) { console.log(code, message); }
    `;
    const args = ['--no-warnings', '--input-type=module', '-e', script];
    const printed = execFileSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, NODE_PATH: '' } });
    assert.equal(
      printed.trim(),
      'RDCP_CONFIG_INVALID configuration: store: needs the package redis, version 5 or 6: run npm install redis',
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
