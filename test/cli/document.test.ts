import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandLineDocument } from '../../document.ts';

test('docs/command-line.md is as the commands have it', async () => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'command-line.md'), 'utf8');
  assert.equal(text, await commandLineDocument(), 'run `npm run document`');
});
