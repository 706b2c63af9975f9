import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFilter } from '../../src/console/views/tail/filter.ts';
import { attributesText, fileName, lineText, ndjson } from '../../src/console/views/tail/text-of-line.ts';
import { traceLink } from '../../src/console/views/tail/trace-link.ts';
import type { TailLine } from '../../src/protocol/streams.ts';

const LINE: TailLine = {
  timestamp: '2026-01-31T00:00:00.000Z',
  category: 'DATABASE',
  message: 'query done',
  attributes: { rows: 12, sql: 'select 1', table: 'orders', deep: { a: [1, null] }, quoted: '"' },
  instance: 'p1',
  tenant: 'acme',
  traceId: 'abc',
};

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

test('plain text is found in any case, and marked', () => {
  const filter = parseFilter(' Query ');
  assert.deepEqual(filter?.ranges('a query, a QUERY'), [
    [2, 7],
    [11, 16],
  ]);
  assert.equal(filter?.matches('no'), false);
});

test('what looks like a path or like half an expression is plain text', () => {
  assert.equal(parseFilter('/api/v1/')?.matches('GET /api/v1/orders'), true);
  assert.equal(parseFilter('(')?.matches('f(x)'), true);
  assert.equal(parseFilter('/a')?.matches('/a'), true);
});

test('an expression is between slashes, with flags; a wrong one says why', () => {
  const filter = parseFilter('/q\\w+y/i');
  assert.deepEqual(filter?.ranges('a QUERY and a query'), [
    [2, 7],
    [14, 19],
  ]);
  assert.equal(parseFilter('/a/')?.matches('A'), false);
  assert.throws(() => parseFilter('/(a/'), { name: 'SyntaxError' });
});

test('an expression that matches nothing at all marks nothing', () => {
  assert.deepEqual(parseFilter('/x*/')?.ranges('axxb'), [[1, 3]]);
});

test('an empty filter is none', () => {
  assert.equal(parseFilter('  '), undefined);
});

test('a letter whose lower case is longer breaks no mark', () => {
  assert.deepEqual(parseFilter('b')?.ranges('\u0130b'), []);
  assert.equal(parseFilter('b')?.matches('\u0130b'), true);
});
