import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TraceGroups } from '../../src/tools/cli/line-order.ts';

function setUp() {
  const shown: string[] = [];
  const groups = new TraceGroups();
  const add = (message: string, second: number, trace: string | undefined, now: number) =>
    groups.add(
      {
        timestamp: `2026-01-01T00:00:0${second}.000Z`,
        category: 'DATABASE',
        message,
        attributes: {},
        instance: 'a',
        ...(trace !== undefined && { traceId: trace }),
      },
      () => shown.push(message),
      now,
    );
  return { shown, groups, add };
}

test('lines of a trace are shown together and in order, a second after the last one', () => {
  const { shown, groups, add } = setUp();
  add('a2', 2, 'a', 0);
  add('b3', 3, 'b', 100);
  add('a1', 1, 'a', 500);
  groups.flush(1000);
  assert.deepEqual(shown, []);
  groups.flush(1100);
  assert.deepEqual(shown, ['b3']);
  groups.flush(1500);
  assert.deepEqual(shown, ['b3', 'a1', 'a2']);
});

test('a line without a trace does not wait, and at the end none does', () => {
  const { shown, groups, add } = setUp();
  add('a1', 1, 'a', 0);
  add('alone', 2, undefined, 0);
  assert.deepEqual(shown, ['alone']);
  groups.flush(Number.POSITIVE_INFINITY);
  groups.flush(Number.POSITIVE_INFINITY);
  assert.deepEqual(shown, ['alone', 'a1']);
});
