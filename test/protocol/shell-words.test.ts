import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { shellWords } from '../../src/wire/shell-words.ts';

const HOSTILE = [
  '',
  ' ',
  'two  words',
  "it's",
  "'; touch /tmp/pwned; '",
  '"double" \\" \\',
  '$(id) `id` $HOME',
  'a\nb\n',
  '\t\r',
  '-rf',
  '--',
  '=ls',
  '~',
  '*? [a-z] {a,b}',
  '#comment',
  '!history ^a^b',
  'a;b|c&d<e>f(g)',
  '%s\\n',
  'größe 価格 👍🏽',
  '\u202ereversed',
];

test('words of any text arrive at a program as they were, in every shell', (t) => {
  for (const shell of ['sh', 'bash', 'zsh']) {
    const printed = (command: string) => execFileSync(shell, ['-c', command], { encoding: 'utf8', stdio: 'pipe' });
    try {
      printed(':');
    } catch {
      t.diagnostic(`${shell} is not there`);
      continue;
    }
    const words = printed(`printf '%s\\0' ${shellWords(...HOSTILE)}`).split('\0');
    assert.deepEqual(words.slice(0, -1), HOSTILE, shell);
  }
  assert.equal(shellWords('rdcp', 'tail', 'A_1', '--for', '5m'), 'rdcp tail A_1 --for 5m', 'plain words stay plain');
});
