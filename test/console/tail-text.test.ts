import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFilter } from '../../src/tools/console/views/tail/filter.ts';
import { LineLog } from '../../src/tools/console/views/tail/line-log.ts';
import type { LineRow } from '../../src/tools/console/views/tail/row.ts';
import { fileName, lineText, ndjson, traceLink } from '../../src/tools/console/views/tail/text-of-line.ts';
import { attributesText } from '../../src/wire/line-text.ts';
import type { TailLine } from '../../src/wire/streams.ts';

const LINE: TailLine = {
  timestamp: '2026-01-31T00:00:00.000Z',
  category: 'DATABASE',
  message: 'query done',
  attributes: { rows: 12, sql: 'select 1', table: 'orders', deep: { a: [1, null] }, quoted: '"' },
  instance: 'p1',
  tenant: 'acme',
  traceId: 'abc',
};

function rowOf(message: string): LineRow {
  const log = new LineLog();
  log.line({ ...LINE, message, attributes: {} });
  return log.shown[0] as LineRow;
}

test('attributes on one line are unambiguous', () => {
  assert.equal(attributesText(LINE.attributes), 'rows=12 sql="select 1" table=orders deep={"a":[1,null]} quoted="\\""');
});

test('a line as text has everything in the order of reading', () => {
  assert.equal(
    lineText({ ...LINE, attributes: { rows: 1 } }, 'web-1:42'),
    '2026-01-31T00:00:00.000Z web-1:42 DATABASE acme query done rows=1 trace=abc',
  );
});

test('NDJSON has the lines as they came', () => {
  assert.deepEqual(
    ndjson([LINE, LINE])
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text)),
    [LINE, LINE],
  );
});

test('the file is named after the categories and the time', () => {
  const now = Date.UTC(2026, 0, 31, 12, 30, 5);
  assert.equal(fileName(['A', 'B'], now), 'tail-A-B-2026-01-31T12-30-05-000Z.ndjson');
  assert.equal(fileName(['A', 'B', 'C', 'D'], now), 'tail-A-B-C-2026-01-31T12-30-05-000Z.ndjson');
});

test('a trace id is a link by the template', () => {
  const link = (template: string | undefined, traceId: string | undefined, spanId?: string) =>
    traceLink(template, { ...(traceId !== undefined && { traceId }), ...(spanId !== undefined && { spanId }) });
  assert.equal(
    link('https://t.example/trace/{traceId}?span={spanId}', 'abc', 'de'),
    'https://t.example/trace/abc?span=de',
  );
  assert.equal(link('https://t.example/{traceId}', '../?<x>"'), 'https://t.example/..%2F%3F%3Cx%3E%22');
  assert.equal(link('https://t.example/{traceId}', undefined), undefined);
  assert.equal(link(undefined, 'abc'), undefined);
  assert.equal(link('javascript:alert({traceId})', '1'), undefined);
  assert.equal(link('{traceId}', 'javascript:alert(1)'), undefined);
  assert.equal(link('not an address', '1'), undefined);
});

test('words are found in any case, and marked, the longest of those that begin together', () => {
  const filter = parseFilter(' Query ');
  assert.deepEqual(filter?.ranges('a query, a QUERY'), [
    [2, 7],
    [11, 16],
  ]);
  assert.equal(filter?.matches(rowOf('no')), false);
  assert.deepEqual(parseFilter('or order')?.ranges('an order or two'), [
    [3, 8],
    [9, 11],
  ]);
});

test('every word must occur, and none that follows a minus', () => {
  const filter = parseFilter('select -orders 12');
  assert.equal(filter?.matches(rowOf('SELECT * from stock rows=12')), true);
  assert.equal(filter?.matches(rowOf('select * from stock')), false);
  assert.equal(filter?.matches(rowOf('select * from ORDERS rows=12')), false);
  assert.equal(parseFilter('-heartbeat')?.matches(rowOf('query')), true);
});

test('characters of regular expressions are plain text, and an empty filter is none', () => {
  assert.equal(parseFilter('/api/v1/')?.matches(rowOf('GET /api/v1/orders')), true);
  assert.equal(parseFilter('(')?.matches(rowOf('f(x)')), true);
  assert.deepEqual([parseFilter(''), parseFilter('  '), parseFilter(' - ')], [undefined, undefined, undefined]);
});

test('a text with a very long run of matches is marked in part', () => {
  assert.equal(parseFilter('a')?.ranges('a'.repeat(10_000)).length, 50);
});
