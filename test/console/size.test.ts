import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertBuilt, ROOT } from '../support/built.ts';

assertBuilt();
const FOLDER = join(ROOT, 'dist/console');

test('the page is four files, at most 100 KiB gzipped in all', () => {
  const files = readdirSync(FOLDER).sort();
  assert.deepEqual(files, ['console.css', 'console.js', 'icon.svg', 'index.html']);
  const sizes = files.map((file) => gzipSync(readFileSync(join(FOLDER, file))).byteLength);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total <= 100 * 1024, `${total} bytes: ${files.map((file, at) => `${file} ${sizes[at]}`).join(', ')}`);
});

test('the page sends requests to its own endpoint alone, and makes no HTML of text', () => {
  const script = readFileSync(join(FOLDER, 'console.js'), 'utf8');
  const addresses = [...script.matchAll(/https?:\/\/[^\s"'`$)]+/g)].map(([address]) => address);
  // Names of XML, not addresses.
  assert.deepEqual(
    addresses.filter((address) => !address.startsWith('http://www.w3.org/')),
    [],
  );
  assert.doesNotMatch(script, /\beval\(|new Function\(|document\.cookie|indexedDB/);
  // Saved tails, and the lines of a tail that are kept over a reload: which no credential is part of (tail.full.ts, sessions.full.ts).
  assert.equal(script.match(/localStorage/g)?.length, 2);
  assert.equal(script.match(/sessionStorage/g)?.length, 2);
  for (const file of ['index.html', 'console.css']) {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    assert.doesNotMatch(text, /https?:|@import|\sstyle=|\son\w+=/, file);
  }
});
