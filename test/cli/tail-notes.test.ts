import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessNames } from '../../src/tools/cli/process-names.ts';
import { TailNotes } from '../../src/tools/cli/tail-notes.ts';
import type { CallCounts, Counted } from '../../src/wire/call-counts.ts';
import type { TailEvent } from '../../src/wire/streams.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const open = (instances: number, ...categories: string[]) =>
  ({ event: 'start', data: { revision: 1, instances, categories, expiresAt: NOW } }) as TailEvent;
const instance = (id: string, state: 'joined' | 'left') => ({ event: 'instance', data: { id, state } }) as TailEvent;
const line = { event: 'line', data: { instance: 'a', category: 'SQL', message: 'm', timestamp: NOW } } as TailEvent;
const dropped = (count: number) => ({ event: 'dropped', data: { count, since: NOW } }) as TailEvent;

/** The notes of a tail; a number lets so many seconds pass. */
function said(
  steps: readonly (TailEvent | number)[],
  part: Pick<Counted, 'tenant' | 'target'> = {},
): (string | undefined)[] {
  const heard: (string | undefined)[] = [];
  let now = 0;
  const notes = new TailNotes({
    note: (text) => void heard.push(text),
    clock: () => '00:05:00',
    now: () => now,
    part,
    nameOf: (id) => id,
  });
  for (const step of steps) {
    if (typeof step !== 'number') notes.take(step);
    else
      for (const end = now + step * 1000; now < end; ) {
        now += 1000;
        notes.tick();
      }
  }
  return [...heard.slice(1), notes.summary()];
}

const NONE: CallCounts = { calls: 0, unmatched: 0, outsideWork: 0, filtered: 0, unevaluated: 0, attributes: [] };
const counts = (instances: number, categories: Record<string, CallCounts> = {}) =>
  ({ event: 'counts', data: { instances, categories } }) as TailEvent;

test('a tail without lines says which processes take part, and what they have counted', () => {
  const all = [instance('a', 'joined'), instance('b', 'joined')];
  assert.deepEqual(said([open(2, 'SQL'), ...all, counts(2), 300]), [
    'All 2 processes take part.',
    'No line for 10s: SQL was not called in 10 s in 2 processes.',
    'No line: SQL was not called in 300 s in 2 processes.',
  ]);
  assert.deepEqual(
    said([open(1, 'SQL', 'TLS'), instance('a', 'joined'), counts(1, { SQL: { ...NONE, otherTenants: 3 } }), 12], {
      tenant: 'acme',
    }),
    [
      'No line for 10s: none of 2 categories was called for tenant acme in 10 s, but 3 times for others.',
      'No line: none of 2 categories was called for tenant acme in 12 s, but 3 times for others.',
    ],
  );
  const unmatched = { ...NONE, calls: 85, unmatched: 85, attributes: ['user.id', 'tenant'] };
  assert.deepEqual(
    said([open(2, 'SQL'), ...all, counts(1, { SQL: unmatched }), 300], { target: { match: { userid: '42' } } }).at(-1),
    'No line: SQL was called 85 times in 300 s in 1 of 2 processes; none had userid=42 (attributes seen: user.id, tenant); 1 of 2 processes did not say.',
  );
});

test('a tail with lines has no note about silence', () => {
  assert.deepEqual(said([open(1, 'SQL'), instance('a', 'joined'), 5, line, 300, line]), [
    '2 lines from 1 process, 0 dropped.',
  ]);
  assert.deepEqual(said([open(1, 'SQL'), instance('a', 'joined'), dropped(1), 20, dropped(7)]), [
    'Lines over the rate (--rate N), read too slowly, or lost while the store was away, are dropped.',
    '1 line was dropped.',
    '7 lines were dropped.',
    '0 lines from 0 processes, 8 dropped.',
  ]);
});

test('processes that are late, lost or new are named; those of the beginning are counted', () => {
  assert.deepEqual(
    said([open(3, 'SQL'), instance('a', 'joined'), line, 4, instance('b', 'joined'), instance('a', 'left'), 60]),
    ['1 of 3 processes take part so far.', 'Process b joined.', 'Process a left.', '1 line from 1 process, 0 dropped.'],
  );
  assert.deepEqual(said([open(2, 'SQL'), 11]), [
    '0 of 2 processes take part so far.',
    'No line for 10s: how often SQL was called is not known.',
    '0 lines from 0 processes, 0 dropped.',
  ]);
});

test('of many categories some are named, and before the beginning there is nothing to sum up', () => {
  const heard: string[] = [];
  const saying = {
    note: (text: string) => heard.push(text),
    clock: () => '00:05:00',
    now: () => 0,
    part: {},
    nameOf: (id: string) => id,
  };
  const notes = new TailNotes(saying);
  notes.tick();
  assert.equal(notes.summary(), undefined);
  notes.take(open(3, 'A', 'B', 'C', 'D', 'E', 'F', 'G'));
  assert.deepEqual(heard, ['Tailing A, B, C, D, E and 2 more in 3 processes until 00:05:00; Ctrl-C ends it.']);
});

test('dropped lines are counted at most once in ten seconds', () => {
  const notes = said([open(1, 'SQL'), instance('a', 'joined'), line, dropped(1), 1, dropped(2), 1, dropped(3), 12]);
  assert.deepEqual(notes, [
    'Lines over the rate (--rate N), read too slowly, or lost while the store was away, are dropped.',
    '1 line was dropped.',
    '5 lines were dropped.',
    '1 line from 1 process, 6 dropped.',
  ]);
});

test('the processes of a tail are listed every ten seconds, by the clock of the command alone', async () => {
  let asked = 0;
  const fleet = async () => {
    asked += 1;
    return { instances: [{ id: 'a', host: 'shop', pid: 7 }] } as never;
  };
  const processes = new ProcessNames({ fleet }, new AbortController().signal);
  assert.equal(processes.isDue(0), false, 'before it was asked');
  await processes.refresh(1000);
  assert.deepEqual(
    [10_999, 11_000].map((now) => processes.isDue(now)),
    [false, true],
  );
  await processes.listed('a', () => 11_000);
  assert.deepEqual([asked, processes.nameOf('a')], [1, 'shop:7']);
});
