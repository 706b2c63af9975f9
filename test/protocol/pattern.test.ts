import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CategoryNames } from '../../src/adopt/names.ts';
import { isSelected, parseSelection } from '../../src/tools/cli/names.ts';
import { allowing, matchesAny, patternMatcher } from '../../src/wire/names.ts';
import { createRedaction } from '../../src/wire/redaction.ts';
import fc from '../support/fast-check.ts';

/** By the definition: each star stands for nothing, or for one more character. */
function matchesByDefinition(pattern: string, text: string, one?: string): boolean {
  if (pattern === '') return text === '';
  const rest = pattern.slice(1);
  if (pattern[0] === '*') {
    return matchesByDefinition(rest, text, one) || (text !== '' && matchesByDefinition(pattern, text.slice(1), one));
  }
  return text !== '' && (pattern[0] === one || pattern[0] === text[0]) && matchesByDefinition(rest, text.slice(1), one);
}

const textOf = (...letters: string[]) => fc.string({ unit: fc.constantFrom(...letters), maxLength: 8 });

test('a pattern matches what its definition says, and a value only by a star at its end', () => {
  fc.assert(
    fc.property(textOf('a', 'b', '?', '*'), textOf('a', 'b', '?'), (pattern, text) => {
      assert.equal(patternMatcher(pattern)(text), matchesByDefinition(pattern, text));
      assert.equal(patternMatcher(pattern, { one: '?' })(text), matchesByDefinition(pattern, text, '?'));
      const start = pattern.slice(0, -1);
      assert.equal(allowing(pattern)(text), pattern.endsWith('*') ? text.startsWith(start) : pattern === text);
    }),
    { numRuns: 2000 },
  );
});

test('a pattern of many stars takes no power of the length of the text, wherever it is given', () => {
  const pattern = `${'A*'.repeat(6)}B`;
  const text = 'A'.repeat(4000);
  const names = new CategoryNames([{ match: pattern, exclude: true }], assert.fail);
  assert.ok(names.assign(text));
  assert.equal(isSelected(parseSelection([pattern]), text), false);
  assert.equal(isSelected(parseSelection([`?${pattern}`]), text), false);
  assert.equal(createRedaction([pattern]).hides(text), false);
  assert.equal(matchesAny([pattern], text), false);
});
