import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { findOldNode } from './old-node.ts';

const directory = dirname(findOldNode() ?? '');

it('a clone is installed by an older Node without warnings', {
  skip: !existsSync(join(directory, 'npm')) && 'no older Node with npm on this machine',
}, (t) => {
  const clone = newFolder(t);
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(join(ROOT, file), join(clone, file));
  const args = ['ci', '--dry-run', '--no-audit', '--no-fund'];
  const env = { PATH: `${directory}:/bin`, HOME: clone, npm_config_update_notifier: 'false' };
  const { status, stdout, stderr } = spawnSync(join(directory, 'npm'), args, { cwd: clone, env, encoding: 'utf8' });
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  assert.match(stdout, /^added \d+ packages/m);
});
