import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFilter } from '../../src/tools/console/views/tail/filter.ts';
import { LineLog } from '../../src/tools/console/views/tail/line-log.ts';
import type { Row } from '../../src/tools/console/views/tail/row.ts';
import { tailLine as line } from './discovered.ts';

const messages = (rows: readonly Row[]) =>
  rows.map((row) => (row.kind === 'line' ? row.line.message : row.kind === 'note' ? row.text : ''));
const never = () => false;

test('the newest lines stay, within the number of rows', () => {
  const log = new LineLog({ rows: 100, characters: 1e6 });
  for (let number = 0; number < 1000; number++) log.line(line(`m${number}`));
  assert.ok(log.size <= 100 && log.size >= 90, `${log.size} rows`);
  assert.equal(messages(log.shown).at(-1), 'm999');
  assert.equal(log.forgotten + log.size, 1000);
  assert.equal(log.lines, 1000);
});

test('long lines are given up sooner', () => {
  const log = new LineLog({ rows: 1000, characters: 100_000 });
  for (let number = 0; number < 100; number++) log.line(line('x'.repeat(10_000)));
  assert.ok(log.size < 12, `${log.size} rows`);
});

test('during a pause nothing moves; the lines that came meanwhile follow, as far as there is room', () => {
  const log = new LineLog({ rows: 100, characters: 1e6 });
  log.line(line('before'));
  log.hold();
  for (let number = 0; number < 250; number++) log.line(line(`m${number}`));
  assert.deepEqual(messages(log.shown), ['before']);
  assert.ok(log.held <= 150 && log.held > 100, `${log.held} wait`);
  const unseen = 250 - log.held;
  log.release(0);
  assert.equal(log.held, 0);
  const notes = log.shown.flatMap((row) => (row.kind === 'note' ? [row.text] : []));
  assert.deepEqual(notes, [`${unseen} lines dropped during the pause`]);
  assert.equal(messages(log.shown).at(-2), `m${249 - unseen}`);
  log.line(line('after'));
  assert.equal(messages(log.shown).at(-1), 'after');
});

test('a filter applies to the present rows, newest first and in slices, and to new ones', () => {
  const log = new LineLog({ rows: 1000, characters: 1e6 });
  for (let number = 0; number < 500; number++) log.line(line(number % 2 === 0 ? `even ${number}` : `odd ${number}`));
  log.note('joined', false, 0);
  log.setFilter(parseFilter('ODD'));
  assert.ok(log.isFiltering);
  let slices = 0;
  for (; log.isFiltering; slices++) {
    log.work(() => true);
    if (slices === 0) assert.deepEqual(messages(log.shown).slice(-2), ['odd 499', 'joined']);
    if (slices === 2) log.line(line('odd in between'));
    if (slices === 3) log.line(line('even in between'));
  }
  assert.ok(slices > 3);
  assert.equal(log.shown.length, 252);
  assert.deepEqual(messages(log.shown).slice(0, 2), ['odd 1', 'odd 3']);
  assert.deepEqual(messages(log.shown).slice(-3), ['odd 499', 'joined', 'odd in between']);
  const ids = log.shown.map(({ id }) => id);
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  log.setFilter(undefined);
  assert.equal(log.shown.length, 503);
});

test('rows that are given up leave the filtered view too, also while it is made', () => {
  const log = new LineLog({ rows: 100, characters: 1e6 });
  for (let number = 0; number < 100; number++) log.line(line(`m${number}`));
  log.setFilter(parseFilter('m'));
  log.work(() => true);
  for (let number = 100; number < 300; number++) log.line(line(`m${number}`));
  while (log.isFiltering) log.work(never);
  assert.deepEqual(
    log.shown.map(({ id }) => id),
    Array.from({ length: log.size }, (_, at) => 301 - log.size + at),
  );
});

test('clearing keeps the filter', () => {
  const log = new LineLog();
  log.line(line('one'));
  log.setFilter(parseFilter('two'));
  log.clear();
  log.line(line('one'));
  log.line(line('two'));
  assert.deepEqual(messages(log.shown), ['two']);
});
