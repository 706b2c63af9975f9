import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CONDITIONS } from '../src/conditions.ts';

test('docs/messages.md lists every condition with what is said of it', () => {
  const text = readFileSync(join(import.meta.dirname, '..', 'docs', 'messages.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(\w+)` \| (.*?) ?\| (.*?) ?\| (.*?) \| (.+) \|$/gm)];
  const documented = rows.map(([, name, meanwhile, credentials, over]) => [
    name,
    meanwhile,
    credentials === 'yes',
    over,
  ]);
  const said = Object.entries(CONDITIONS).map(([name, meaning]) => [
    name,
    'meanwhile' in meaning ? meaning.meanwhile : '',
    meaning.credentials,
    meaning.over,
  ]);
  assert.deepEqual(documented, said);
});
