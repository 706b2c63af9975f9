import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { apiReport } from '../../docs/document.ts';
import { assertBuilt } from '../support/built.ts';

test('test/types/api.md has the public types as they are: a change of it is a change for users', async () => {
  assertBuilt();
  const report = readFileSync(join(import.meta.dirname, 'api.md'), 'utf8');
  assert.equal(report, await apiReport(), 'run `npm run document`');
});
