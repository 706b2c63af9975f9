// All runs of the properties of which the fast tier has a fifth: the same files, in one process.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './support/built.ts';

process.env.RDCP_ALL_RUNS = '1';
const files = globSync('test/**/*.test.ts', { cwd: ROOT })
  .filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('/support/runs.ts'))
  .sort();
assert.ok(files.length > 0);
for (const file of files) await import(join(ROOT, file));
