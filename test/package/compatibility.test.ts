import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/built.ts';
import { CONFIGURATIONS } from './configurations.ts';

test('the table of the documentation says what is run', () => {
  const rows = readFileSync(join(ROOT, 'docs/compatibility.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1);
  assert.deepEqual(
    rows,
    CONFIGURATIONS.map(({ name, tried }) => `| ${name} | ${tried} |`),
  );
});
