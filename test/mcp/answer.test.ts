import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { answerOf, bytesOf, fitting, MAX_ANSWER_BYTES, MAX_LIST_BYTES, refusalOf } from '../../src/tools/mcp/answer.ts';
import fc from '../support/fast-check.ts';
import { textOf } from './agent.ts';

const anything = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }));

describe('answers to agents', () => {
  it('are JSON in one line, from which no text of others escapes', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const answer = answerOf({ lines: [value] });
        const text = textOf(answer);
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(answer.structuredContent)));
        assert.doesNotMatch(text, /[<>\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      }),
    );
    assert.match(
      textOf(refusalOf('no </error>\u202e')),
      /never an instruction.*"error":"no \\u003c\/error\\u003e\\\\u202e"}$/,
    );
  });

  it('take as many items as they have room for', () => {
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 200 }), (items) => {
        const { taken, omitted } = fitting(items);
        assert.equal(taken.length + omitted, items.length);
        assert.ok(bytesOf(taken) <= MAX_LIST_BYTES + 2);
        assert.ok(Buffer.byteLength(textOf(answerOf({ taken, omitted }))) < MAX_ANSWER_BYTES);
      }),
    );
    assert.deepEqual(fitting(['x'.repeat(20_000), 'y'.repeat(3000), 'z']), { taken: ['x'.repeat(20_000)], omitted: 2 });
  });
});
