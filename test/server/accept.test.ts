import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { negotiate } from '../../src/server/accept.ts';

const JSON_TYPE = 'application/json';
const RDCP_TYPE = 'application/vnd.rdcp.v1+json';

const CASES: readonly (readonly [accept: string | undefined, mediaType: string])[] = [
  [undefined, JSON_TYPE],
  ['', JSON_TYPE],
  ['*/*', JSON_TYPE],
  ['application/*', JSON_TYPE],
  [JSON_TYPE, JSON_TYPE],
  ['application/json; charset=utf-8', JSON_TYPE],
  ['APPLICATION/JSON', JSON_TYPE],
  [RDCP_TYPE, RDCP_TYPE],
  [`${RDCP_TYPE}, */*`, RDCP_TYPE],
  [`${RDCP_TYPE}, ${JSON_TYPE}`, RDCP_TYPE],
  [`${JSON_TYPE}, ${RDCP_TYPE}`, JSON_TYPE],
  [`${RDCP_TYPE};q=0.5, ${JSON_TYPE}`, JSON_TYPE],
  [`${RDCP_TYPE};q=0.5, ${JSON_TYPE};q=0.4`, RDCP_TYPE],
  [`${JSON_TYPE};q=0, */*`, RDCP_TYPE],
  ['text/html, application/xhtml+xml, */*;q=0.8', JSON_TYPE],
  [`application/vnd.rdcp.v2+json, ${JSON_TYPE};q=0.1`, JSON_TYPE],
  [',,*/*,', JSON_TYPE],
];

for (const [accept, mediaType] of CASES) {
  test(`Accept ${accept ?? '(absent)'} is answered with ${mediaType}`, () => {
    assert.deepEqual(negotiate(accept), { mediaType });
  });
}

for (const accept of ['text/html', 'application/json;q=0', '*/*;q=0', 'application/json;q=7', 'nonsense', 'text/*']) {
  test(`Accept ${accept} leaves nothing to answer with`, () => {
    assert.deepEqual(negotiate(accept), { refused: 'type' });
  });
}

test('another version of the protocol alone is refused as a version', () => {
  assert.deepEqual(negotiate('application/vnd.rdcp.v2+json'), { refused: 'version' });
  assert.deepEqual(negotiate('text/html, application/vnd.rdcp.v17+json;q=0.3'), { refused: 'version' });
  assert.deepEqual(negotiate('application/vnd.rdcp.v2+json;q=0'), { refused: 'type' });
});

test('a type is never answered with when its most exact range has quality 0', () => {
  const type = fc.constantFrom(JSON_TYPE, RDCP_TYPE, 'application/*', '*/*', 'text/html');
  const range = fc.tuple(type, fc.constantFrom('', ';q=0', ';q=0.5', ';q=1', ';q=0.25'));
  fc.assert(
    fc.property(fc.uniqueArray(range, { selector: ([name]) => name, maxLength: 5 }), (ranges) => {
      const negotiation = negotiate(ranges.map(([name, quality]) => name + quality).join(', '));
      if (!('mediaType' in negotiation) || ranges.length === 0) return;
      const exact = ['*/*', 'application/*', negotiation.mediaType].findLast((name) =>
        ranges.some(([range]) => range === name),
      );
      assert.notEqual(exact, undefined);
      assert.notEqual(ranges.find(([name]) => name === exact)?.[1], ';q=0');
    }),
    { numRuns: 500 },
  );
});
