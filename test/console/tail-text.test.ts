import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFilter } from '../../src/tools/console/views/tail/filter.ts';
import { fileName, lineText, ndjson, traceLink } from '../../src/tools/console/views/tail/text-of-line.ts';
import { tailLine } from './discovered.ts';

const attributes = { rows: 12, sql: 'select 1', deep: { a: [1, null] }, quoted: '"' };
const LINE = tailLine('query done', { attributes, tenant: 'acme', traceId: 'abc' });

test('a line as text has everything in the order of reading, and as NDJSON it is as it came', () => {
  assert.equal(
    lineText(LINE, 'web-1:42'),
    '2026-01-31T00:00:00.000Z web-1:42 DATABASE acme query done rows=12 sql="select 1" deep={"a":[1,null]} quoted="\\"" trace=abc',
  );
  const lines = ndjson([LINE, LINE]).trimEnd().split('\n');
  assert.deepEqual(
    lines.map((text) => JSON.parse(text)),
    [LINE, LINE],
  );
  const now = Date.UTC(2026, 0, 31, 12, 30, 5);
  assert.equal(fileName(['A', 'B', 'C', 'D'], now), 'tail-A-B-C-2026-01-31T12-30-05-000Z.ndjson');
});

test('a trace id is a link by the template', () => {
  const template = 'https://t.example/{traceId}?span={spanId}';
  for (const [given, traceId, expected] of [
    [template, 'abc', 'https://t.example/abc?span='],
    [template, '../?<x>"', 'https://t.example/..%2F%3F%3Cx%3E%22?span='],
    [template, undefined, undefined],
    [undefined, 'abc', undefined],
    ['javascript:alert({traceId})', '1', undefined],
    ['{traceId}', 'javascript:alert(1)', undefined],
    ['not an address', '1', undefined],
  ] as const) {
    assert.equal(traceLink(given, traceId === undefined ? {} : { traceId }), expected, given);
  }
});

test('words are marked in any case, the longest of those that begin together, and not more than can be read', () => {
  const marked = (filter: string, text: string) =>
    parseFilter(filter)
      ?.ranges(text)
      .map(([a, b]) => text.slice(a, b));
  assert.deepEqual(marked(' Query ', 'a query, a QUERY'), ['query', 'QUERY']);
  assert.deepEqual(marked('or order', 'an order or two'), ['order', 'or']);
  assert.equal(marked('a', 'a'.repeat(10_000))?.length, 50);
});
