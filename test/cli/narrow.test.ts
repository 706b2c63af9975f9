import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { folded, widthOf } from '../../src/tools/cli/table.ts';
import { ending, type RunOptions, rdcp, wordsOf } from './run.ts';
import { service } from './service.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const metrics = { callsTotal: 1088, callsPerSecond: 30.4 };
const plain = { enabled: false, temporary: false, metrics };
const CATEGORIES = [
  { ...plain, name: 'CACHE', description: 'hits and misses of the cache, by key and by tenant' },
  {
    ...plain,
    name: 'DATABASE',
    description: 'SQL statements and their durations, as the pool runs them',
    enabled: true,
  },
  { ...plain, name: `LONG_${'X'.repeat(59)}`, description: '' },
];

/** What a terminal of this size gets, without colours. */
const onTerminal = (line: string, columns: number, { env, ...more }: RunOptions = {}) =>
  rdcp(wordsOf(line), { typed: '', columns, env: { NO_COLOR: '1', ...env }, ...more });

test('on a terminal no line of a table is wider than it, and every word is there', async (t) => {
  const { url } = await service(t, { categories: CATEGORIES, entries: [] });
  for (const line of [`list -o wide --url ${url}`, `audit --url ${url}`]) {
    const all = (await rdcp(wordsOf(line))).stdout.split(/\s+/).sort();
    for (const columns of [30, 40, 80, 120, 200]) {
      const { stdout } = await onTerminal(line, columns);
      for (const line of stdout.split('\n')) assert.ok(line.length <= columns, `${columns}: ${line}`);
      if (columns >= 80) assert.deepEqual(stdout.split(/\s+/).sort(), all);
      else assert.equal(stdout.replace(/\s/g, '').length, all.join('').length);
    }
  }
});

test('what has no room beside the others stands below them, and a description is cut to its line', async (t) => {
  const { url } = await service(t, { categories: CATEGORIES.slice(0, 2) });
  const shown = async (columns: number) => (await onTerminal(`list --url ${url}`, columns)).stdout;
  assert.equal(
    await shown(40),
    `CATEGORY  STATE  FOR  CALLS  CALLS/S
  DESCRIPTION
DATABASE  on     -    1088   30.4
  SQL statements and their durations,...
CACHE     off    -    1088   -
  hits and misses of the cache, by ke...
`,
  );
  assert.equal(
    await shown(70),
    `CATEGORY  STATE  FOR  CALLS  CALLS/S  DESCRIPTION
DATABASE  on     -    1088   30.4     SQL statements and their dura...
CACHE     off    -    1088   -        hits and misses of the cache,...
`,
  );
});

test('what a service usually has fits 80 columns, a row a line', async (t) => {
  const id = '0190b7c4-8f0e-7c3a-9d52-3f6f0b6f9a11';
  const process = { id, host: 'checkout-7d9f4c', service: 'checkout', version: '1.4.2', lastSeenAt: NOW };
  const failure = { id, instance: id, service: 'checkout', timestamp: NOW, traceId: '0'.repeat(32) };
  const entry = { timestamp: NOW, action: 'enable', outcome: 'success', categories: ['DATABASE'], identity: {} };
  const { url } = await service(t, {
    timestamp: NOW,
    revision: 12,
    instances: [{ ...process, pid: 26_863, applied: 12, pending: false }],
    failures: [{ ...failure, outcome: 'POST /orders 500', attributes: { 'user.id': '42' }, lines: { SQL: 3 } }],
    recorder: { categories: ['SQL'] },
    entries: [{ ...entry, reason: 'slow' }],
  });
  for (const command of ['fleet', 'failures', 'audit']) {
    const { stdout } = await onTerminal(`${command} --url ${url}`, 80);
    assert.doesNotMatch(stdout, /^ |.{81}/m, stdout);
    assert.equal(stdout.includes(id), false);
    const wide = await rdcp([command, '--url', url, '-o', 'wide']);
    assert.ok(command === 'audit' || wide.stdout.includes(id));
  }
});

test('watch paints no line that the terminal would cut off, and no more lines than it has', async (t) => {
  const { url } = await service(t, { categories: CATEGORIES, entries: [] });
  const { stdout } = await onTerminal(`watch --url ${url}`, 30, { rows: 8, ...ending(/CATEGORY/) });
  const lines = stripVTControlCharacters(stdout).trimEnd().split('\n');
  assert.ok(lines.length < 8, `${lines.length}`);
  for (const line of lines) assert.ok(line.length <= 30, line);
  assert.equal(lines[0], 'CATEGORY  STATE  FOR  CALLS/S');
  assert.match(stdout, /^DATABASE +on/m);
  assert.match(stdout, /^and \d more, off$/m);
});

test('watch says how many of those that have no room are on', async (t) => {
  const categories = Array.from({ length: 9 }, (_, index) => ({ ...plain, name: `SQL_${index}`, enabled: index < 7 }));
  const { url } = await service(t, { categories, entries: [] });
  const { stdout } = await onTerminal(`watch --url ${url}`, 60, { rows: 8, ...ending(/CATEGORY/) });
  assert.match(stdout, /^and 5 more, 3 of them on$/m);
});

test('watch paints over all rows that a terminal which became narrower has made of its table', async (t) => {
  const there = await service(t, { categories: CATEGORIES, entries: [] });
  const stop = new AbortController();
  const size = { columns: 120 };
  let painted = 0;
  const { stdout } = await rdcp(['watch', '*', '--url', there.url], {
    ...{ typed: '', rows: 30, env: { NO_COLOR: '1' }, interrupted: stop.signal },
    get columns() {
      return size.columns;
    },
    heard: (text) => {
      painted += 1;
      size.columns = 60;
      if (painted === 2) stop.abort();
      assert.ok(painted > 1 || text.split('\n').length === 5);
    },
  });
  // A header of 95 columns and three rows as wide, of which the last cell is short: 2 + 2 + 2 + 2 rows of 60.
  assert.match(stdout.replaceAll('\u001b', '<esc>'), /<esc>\[8A\r<esc>\[J/);
});

test('characters are as wide as a terminal shows them', () => {
  assert.deepEqual(['abc', '日本', 'é', 'e\u0301', '🚀', ''].map(widthOf), [3, 4, 1, 1, 2, 0]);
  assert.deepEqual(folded('one two three', 7), ['one two', 'three']);
  assert.deepEqual(folded('A_VERY_LONG_NAME and', 6), ['A_VERY', '_LONG_', 'NAME', 'and']);
  assert.deepEqual(folded('日本語', 4), ['日本', '語']);
  assert.deepEqual(folded('日本', 1), ['日', '本']);
  assert.deepEqual(folded('', 5), ['']);
});

test('a pipe and a terminal without a size get whole lines, in tables and in help', async (t) => {
  const { url } = await service(t, { categories: CATEGORIES, entries: [] });
  const piped = await rdcp(['list', '--url', url], { columns: 40 });
  const { stdout } = await onTerminal(`list --url ${url}`, 0, { rows: 0 });
  for (const table of [piped.stdout, stdout]) assert.equal(table.trimEnd().split('\n').length, 4);
  const { stdout: help } = await onTerminal('list --help', 0);
  assert.match(help, /^list the debug categories of the service and their state, those that are on first$/m);
  const watched = await onTerminal(`watch --url ${url}`, 0, { rows: 0, ...ending(/CATEGORY/) });
  assert.match(watched.stdout, /^DATABASE +on +- +30\.4 +-$/m);
});

test('list is no longer than the screen unless it is asked for all', async (t) => {
  const { url } = await service(t, { categories: CATEGORIES });
  const short = await onTerminal(`list --url ${url}`, 80, { rows: 5 });
  assert.deepEqual(short.stdout.match(/^[A-Z]+/gm), ['CATEGORY', 'DATABASE', 'CACHE']);
  assert.equal(short.stderr, '1 more: rdcp list --all\n');
  const all = await onTerminal(`list --all --url ${url}`, 80, { rows: 5 });
  assert.deepEqual(all.stdout.match(/^[A-Z]+/gm), ['CATEGORY', 'DATABASE', 'CACHE', 'LONG']);
});

test('what a terminal without UTF-8 cannot show is escaped there, and nowhere else', async (t) => {
  const description = 'größe, 日本, e\u0301 and ۛ';
  const { url } = await service(t, { categories: [{ ...plain, name: 'SQL', description }] });
  const shown = async (env: Record<string, string>, typed?: string, ...more: string[]) => {
    const options = { columns: 120, env: { NO_COLOR: '1', ...env }, ...(typed !== undefined && { typed }) };
    return (await rdcp(['list', '--url', url, ...more], options)).stdout;
  };
  const escaped = String.raw`gr\u00f6\u00dfe, \u65e5\u672c, e\u0301 and \u06db`;
  for (const env of [{ LANG: 'C' }, { LC_ALL: 'POSIX', LANG: 'de_DE.UTF-8' }, { LC_CTYPE: 'de_DE.ISO-8859-1' }]) {
    assert.ok((await shown(env, '')).includes(escaped), JSON.stringify(env));
    assert.ok((await shown(env)).includes(description), 'into a pipe it is UTF-8');
    const json = await shown(env, '', '-o', 'json');
    assert.match(json, /^\p{ASCII}+$/u);
    assert.equal(JSON.parse(json).categories[0].description, description);
  }
  for (const env of [{}, { LANG: 'C.utf8' }, { LC_ALL: '', LC_CTYPE: 'UTF-8', LANG: 'C' }]) {
    assert.ok((await shown(env, '')).includes(description), JSON.stringify(env));
  }
});
