import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepLines, takeLines } from '../../src/tools/console/views/tail/kept-lines.ts';
import { LineLog } from '../../src/tools/console/views/tail/line-log.ts';
import type { TailSettings } from '../../src/tools/console/views/tail/tail-session.ts';
import { tailLine } from './discovered.ts';

const SETTINGS: TailSettings = { categories: ['ORDERS'], seconds: 300, log: false, tenant: 'acme' };

/** The storage of a tab, with room for so many characters. */
function storage(room = 5_000_000) {
  const values = new Map<string, string>();
  return {
    getItem: (name: string) => values.get(name) ?? null,
    setItem(name: string, value: string) {
      if (value.length > room) throw new Error('QuotaExceededError');
      values.set(name, value);
    },
    removeItem: (name: string) => void values.delete(name),
  } as unknown as Storage;
}

function logOf(count: number, message: string): LineLog {
  const log = new LineLog();
  for (let at = 0; at < count; at += 1) {
    log.line(tailLine(`${at} ${message}`));
  }
  log.note('a note', false, 0);
  return log;
}

test('the newest lines are kept, up to two million characters', () => {
  const tab = storage();
  keepLines('ada', SETTINGS, logOf(30, 'x'.repeat(100_000)).rows, tab);
  const rows = takeLines('ada', tab)?.rows ?? [];
  assert.ok(rows.length > 10 && rows.length < 20, `${rows.length}`);
  assert.match(rows.at(-1)?.line.message ?? '', /^29 /);
});

test('a storage without room, or with something else in it, keeps nothing', () => {
  const full = storage(10);
  keepLines('ada', SETTINGS, logOf(1, 'paid').rows, full);
  assert.equal(takeLines('ada', full), undefined);
  const strange = storage();
  strange.setItem('rdcp.lines', 'not JSON');
  assert.equal(takeLines('ada', strange), undefined);
});
