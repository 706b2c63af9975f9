import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration, parseDuration, parseTimestamp, timestamp } from '../../src/wire/time.ts';
import fc from '../support/fast-check.ts';

test('a duration is written in the largest unit that divides it', () => {
  assert.equal(formatDuration(900), '15m');
  assert.equal(formatDuration(86_400), '1d');
  assert.equal(formatDuration(7200), '2h');
  assert.equal(formatDuration(90), '90s');
});

test('every whole number of seconds survives being written and read', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 40 }), (seconds) => {
      assert.equal(parseDuration(formatDuration(seconds)), seconds);
    }),
  );
});

test('what is not a positive whole duration is refused', () => {
  const refused = [
    0,
    -1,
    1.5,
    NaN,
    Infinity,
    2 ** 53,
    '0s',
    '5',
    '5 m',
    'm',
    '',
    '-5m',
    '1.5h',
    '5M',
    '1w',
    '5m ',
    '１m',
  ];
  for (const value of [...refused, `${'9'.repeat(400)}s`, '999999999999999d', null, true, {}, ['5m']]) {
    assert.equal(parseDuration(value), undefined, String(value));
  }
});

test('a timestamp has milliseconds and Z, and reads back to the same instant', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), (epochMs) => {
      assert.match(timestamp(epochMs), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.equal(parseTimestamp(timestamp(epochMs)), epochMs);
    }),
  );
});

test('an impossible or differently written instant is no timestamp', () => {
  const refused = [
    '2026-02-30T00:00:00.000Z',
    '2026-01-01T24:00:00.000Z',
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00.000+00:00',
    '2026-01-01',
    '',
  ];
  for (const value of refused) assert.equal(parseTimestamp(value), undefined, value);
});
