import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arranged } from '../../src/tools/console/views/tail/arrange.ts';
import { curlCommand, rdcpCommand } from '../../src/tools/console/views/tail/commands.ts';
import { parseFilter } from '../../src/tools/console/views/tail/filter.ts';
import { LineLog } from '../../src/tools/console/views/tail/line-log.ts';
import type { LineRow, Row } from '../../src/tools/console/views/tail/row.ts';
import type { TailLine } from '../../src/wire/streams.ts';
import { tailLine as line } from './discovered.ts';

function rowsOf(...lines: readonly TailLine[]): readonly Row[] {
  const log = new LineLog();
  for (const each of lines) log.line(each, `web-1:${each.instance}`);
  return log.shown;
}

const found = (filter: string, ...lines: readonly TailLine[]) =>
  rowsOf(...lines).flatMap((row) =>
    row.kind === 'line' && parseFilter(filter)?.matches(row) ? [row.line.message] : [],
  );

test('a filter looks for values of fields, exactly or by their beginning, and for words', () => {
  const lines = [
    line('one', { attributes: { sql: 'select 1', rows: 12 }, tenant: 'acme' }),
    line('two', { attributes: { sql: 'select 12', rows: 120 }, tenant: 'acme-eu', traceId: 'ab' }),
    line('see http://x/two', { category: 'CACHE' }),
  ];
  for (const [filter, wanted] of [
    ['tenant:acme', ['one']],
    ['tenant:ACME*', ['one', 'two']],
    ['-tenant:acme', ['two', 'see http://x/two']],
    ['rows:12', ['one']],
    ['rows>12', ['two']],
    ['rows>=12 rows<100', ['one']],
    ['-rows>0', ['see http://x/two']],
    ['sql:"select 12"', ['two']],
    ['"select 1"', ['one', 'two']],
    ['process:web-1:p1 category:cache', ['see http://x/two']],
    ['trace:ab', ['two']],
    ['http://x', ['see http://x/two']],
    ['rows=12', ['one', 'two']],
    ['two -see', ['two']],
    ['TWO -heartbeat', ['two', 'see http://x/two']],
    ['sql="select 1"', ['one']],
    ['database acme -eu', ['one']],
    ['(', []],
  ] as const) {
    assert.deepEqual(found(filter, ...lines), wanted, filter);
  }
  for (const empty of ['', '  ', ' - ']) assert.equal(parseFilter(empty), undefined);
});

test('a time of the day is compared by its digits', () => {
  const [row] = rowsOf(line('now')) as readonly [LineRow];
  assert.deepEqual(found(`time>=${row.clock} time<=${row.clock}`, line('now')), ['now']);
  assert.deepEqual(found('time>24:00:00.000', line('now')), []);
});

test('lines of a trace are a group, and recorded work is one without being asked', () => {
  const recorded = { 'rdcp.recorded': true, 'rdcp.work.id': '7', 'rdcp.work.outcome': 'POST /orders 500 after 1.2 s' };
  const rows = rowsOf(
    line('plain'),
    line('first', { attributes: { ...recorded, customer: 77 } }),
    line('second', { attributes: recorded, timestamp: '2026-01-31T10:00:01.200Z' }),
    line('traced', { traceId: 'ab' }),
  );
  const text = (shown: readonly Row[]) =>
    shown.map((row) =>
      row.kind === 'group' ? `${row.key}: ${row.lines.length}` : row.kind === 'line' ? row.line.message : '',
    );
  const shown = arranged(rows, { fold: false, byTrace: false, open: new Set() });
  assert.deepEqual(text(shown), ['plain', 'work p1 7: 2', 'traced']);
  assert.deepEqual(shown.map((row) => row.kind === 'group' && row.lines[0]?.line.attributes)[1], { customer: 77 });
  assert.deepEqual(text(arranged(rows, { fold: false, byTrace: true, open: new Set(['work p1 7']) })), [
    ...['plain', 'work p1 7: 2', 'first', 'second', 'trace ab: 1'],
  ]);
  const passing = rows.slice(2, 3);
  const whole = arranged(passing, { fold: false, byTrace: true, open: new Set(['work p1 7']) }, rows);
  assert.deepEqual(text(whole), ['work p1 7: 2', 'first', 'second'], 'one line that passes brings the others');
});

test('a tail is also a command, quoted for a shell', () => {
  const settings = {
    categories: ['DATABASE'],
    seconds: 300,
    log: true,
    tenant: 'acme',
    target: { match: { 'user.id': "o'neil" }, instances: { count: 1 } },
    filter: { where: 'rows > 1000' },
    when: { failed: true },
  } as const;
  assert.equal(
    rdcpCommand(settings),
    "rdcp tail DATABASE --for 5m --tenant acme --also-log --match 'user.id=o'\\''neil' --where 'rows > 1000' --one --on-error",
  );
  assert.equal(rdcpCommand({ ...settings, target: { instances: { count: 2 } } }), undefined);
  const curl = curlCommand(settings, 'http://127.0.0.1:9465/rdcp/v1/tail');
  assert.match(curl, /^curl -N http:\/\/127\.0\.0\.1:9465\/rdcp\/v1\/tail -H "X-RDCP-API-Key: \$RDCP_API_KEY" -H /);
  assert.match(curl, /'X-RDCP-Tenant-ID: acme'/);
  const [, body = ''] = /-d '(.*)'$/.exec(curl) ?? [];
  const { tenant: _, seconds: __, ...sent } = settings;
  assert.deepEqual(JSON.parse(body.replaceAll("'\\''", "'")), { ...sent, duration: 300 });
});
