import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findJsonFault } from '../src/options/json-fault.ts';
import fc from './support/fast-check.ts';
import { inBoth, runs } from './support/tiers.ts';

test('finds the line and column of the first fault', () => {
  const faults: Record<string, [line: number, column: number]> = {
    '': [1, 1],
    '  \n': [2, 1],
    '{': [1, 2],
    '{\n  "a": 1,\n}': [3, 1],
    '{\n  "a": 1\n  "b": 2\n}': [3, 3],
    "{ 'a': 1 }": [1, 3],
    '{ a: 1 }': [1, 3],
    '{ "a" 1 }': [1, 7],
    '{ "a": }': [1, 8],
    '{ "a": 01 }': [1, 8],
    '{ "a": 1. }': [1, 8],
    '{ "a": tru }': [1, 8],
    '{ "a": "x\n" }': [1, 8],
    '{ "a": "\\x" }': [1, 8],
    '[1, 2,]': [1, 7],
    '[1, 2}': [1, 6],
    '[1, 2': [1, 6],
    '{\n  "keys": [\n    {},\n  ],}': [4, 3],
    '{} {}': [1, 4],
    '{ "a": 1 } // comment': [1, 12],
  };
  for (const [text, [line, column]] of Object.entries(faults)) {
    assert.throws(() => JSON.parse(text), text);
    assert.deepEqual(findJsonFault(text), { line, column }, text);
  }
});

inBoth('finds none in JSON, and one in whatever the engine refuses', () => {
  assert.equal(findJsonFault('"\u007f\u0085"'), undefined);
  fc.assert(fc.property(fc.json(), (text) => findJsonFault(text) === undefined));
  const nearlyJson = fc.array(fc.constantFrom(...'{}[],:"\\ \n0123.-+eE', 'true', 'null', '"a"', '1'), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(nearlyJson, (parts) => {
      const text = parts.join('');
      return isJson(text) === (findJsonFault(text) === undefined);
    }),
    { numRuns: runs(3000) },
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
