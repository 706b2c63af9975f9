import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAst } from 'rolldown/parseAst';
import { ROOT } from '../support/built.ts';
import { faultsIn } from './faults.ts';

const planted = (text: string) =>
  faultsIn(text).map(({ start, end, instead }) => text.slice(0, start) + instead + text.slice(end));

const CASES: Readonly<Record<string, readonly string[]>> = {
  'if (a) b();': ['if (true) b();', 'if (false) b();', 'if (a) ;'],
  'const c = (a as A) && b;': ['const c = (a as A);', 'const c = (b);'],
  'const c = a ?? b;': ['const c = (a);'],
  'const c = a <= b;': ['const c = a < b;'],
  'const c = a === b;': ['const c = a !== b;'],
  'const c = a + b;': [],
  'const c = a - 1;': ['const c = a + 1;', 'const c = a - 2;'],
  'const c = 60;': ['const c = 600;'],
  "const c = ['a', 'b'];": ["const c = ['b'];", "const c = ['a', ];"],
  'const c = { on: true };': ['const c = { on: false };'],
  'await a?.b(); void c.d(); delete a[b]; a = b;': [
    '; void c.d(); delete a[b]; a = b;',
    'await a?.b(); ; delete a[b]; a = b;',
    'await a?.b(); void c.d(); ; a = b;',
    'await a?.b(); void c.d(); delete a[b]; ;',
  ],
  "type A = 1 | true; interface B { readonly c: 'd' }": [],
};

test('a fault changes one place, and what is of types alone is none', () => {
  for (const [text, expected] of Object.entries(CASES)) assert.deepEqual(planted(text), expected, text);
});

test('a source with a fault is still a program', () => {
  const text = readFileSync(join(ROOT, 'src/trail/sequencer.ts'), 'utf8');
  const faults = planted(text);
  assert.ok(faults.length > 20, `${faults.length} faults`);
  for (const each of faults) assert.doesNotThrow(() => parseAst(each, { lang: 'ts' }), each);
});
