import assert from 'node:assert/strict';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { category } from '../../src/api.ts';
import * as first from '../../src/index.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { newFolder } from '../support/folder.ts';
import { send } from '../support/server.ts';
import { testConfig } from './service.ts';

const ROOT = join(import.meta.dirname, '..', '..');

test('two copies of the package in a process share one gate: the last control decides, and the first again after it', async (t) => {
  const directory = newFolder(t);
  mkdirSync(join(directory, 'copy'));
  cpSync(join(ROOT, 'src'), join(directory, 'copy', 'src'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(directory, 'copy', 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'copy', 'node_modules'));
  const second: typeof first = await import(pathToFileURL(join(directory, 'copy', 'src', 'index.ts')).href);
  assert.notEqual(second.createRdcp, first.createRdcp);

  const one = first.createRdcp(testConfig());
  t.after(() => one.close());
  const handle = one.category('DATABASE');
  const other = second.createRdcp(testConfig());
  assert.equal(other.category('DATABASE'), handle);
  assert.equal(category('DATABASE'), handle);

  const control = async ({ url }: { readonly url: string }, action: string) => {
    const body = { action, categories: 'DATABASE' };
    assert.equal((await send(url + PATHS.control, { method: 'POST', key: 'operator', body })).status, 200);
  };
  const [byOne, byOther] = await Promise.all([one.listen(), other.listen()]);
  await control(byOther, 'enable');
  assert.equal(handle.enabled, true);
  await control(byOne, 'disable');
  assert.equal(handle.enabled, true, 'the one that came last decides');
  await control(byOne, 'enable');
  await control(byOther, 'disable');
  assert.equal(handle.enabled, false);
  await other.close();
  assert.equal(handle.enabled, true, 'what the first one was told meanwhile holds now');
  assert.ok(second.isRdcpError(new first.RdcpError('RDCP_NOT_FOUND', 'by another copy')));
});
