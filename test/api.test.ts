import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import * as api from '../src/api.ts';

const SRC = join(import.meta.dirname, '..', 'src');

describe('the api entry', () => {
  test('exports what applications need, and no more', () => {
    assert.deepEqual(Object.keys(api).sort(), [
      'category',
      'recordedLines',
      'runWithAttributes',
      'runWithTenant',
      'runWork',
      'setAttributes',
    ]);
  });

  test('works taken apart, and does nothing while no control plane is attached', () => {
    const { category, runWithTenant } = api;
    const debug = category('API_TEST', { description: 'for this test', enabled: true });
    assert.equal(category('API_TEST'), debug);
    assert.equal(debug.description, 'for this test');
    assert.equal(debug.enabled, false);
    debug.debug('nothing', () => assert.fail('ran while off'));
    assert.equal(
      runWithTenant('acme', () => debug.span('nothing', (span) => span === undefined)),
      true,
    );
  });

  test('a handle that is logged shows its name and nothing of the gate', () => {
    assert.deepEqual(Object.keys(api.category('API_TEST')), ['name']);
  });

  test('loads no built-in module but node:async_hooks in a fresh process', () => {
    const url = pathToFileURL(join(SRC, 'api.ts')).href;
    const script = `
      await import('data:text/javascript,import "node:async_hooks"');
      const expected = new Set(process.moduleLoadList);
      await import(${JSON.stringify(url)});
      console.log(JSON.stringify(process.moduleLoadList.filter((name) => !expected.has(name) && !/internal\\/|amaro/.test(name))));
    `;
    const output = execFileSync(process.execPath, ['--input-type=module', '--no-warnings', '-e', script], {
      encoding: 'utf8',
    });
    assert.deepEqual(JSON.parse(output), []);
  });
});
