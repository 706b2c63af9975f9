import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonErrorPlace } from '../../src/protocol/json-syntax.ts';

for (const [text, line, column] of [
  ['', 1, 1],
  ['{\n  "keys": [\n    {},\n  ],}', 4, 3],
  ['{ "keys": [],}', 1, 14],
  ['[1, 2', 1, 6],
  ['{"a" 1}', 1, 6],
  ['{"a": tru}', 1, 7],
  ['{"a": "b\nc"}', 1, 7],
  ["{'a': 1}", 1, 2],
  ['[1] [2]', 1, 5],
  ['[01]', 1, 3],
  ['{"a": 1 // no\n}', 1, 9],
] as const) {
  test(`${JSON.stringify(text)} is wrong at line ${line}, column ${column}`, () => {
    assert.throws(() => JSON.parse(text));
    assert.deepEqual(jsonErrorPlace(text), { line, column });
  });
}

test('a text that is JSON has no wrong token before its end', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = JSON.stringify(value, undefined, 1);
      const lines = text.split('\n');
      assert.deepEqual(jsonErrorPlace(text), { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 });
    }),
  );
});
