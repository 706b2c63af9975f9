import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorType, number, pathOf, text } from '../../src/adopt/channels/fields.ts';

test('the path of a target is shown without its query, its fragment and the host before it', () => {
  for (const [target, path] of [
    ['/orders?token=secret', '/orders'],
    ['/orders#part', '/orders'],
    ['https://ada:password@shop.example/orders?x', '/orders'],
    ['shop.example:443', undefined],
    ['*', undefined],
    [7, undefined],
  ] as const) {
    assert.equal(pathOf(target), path, String(target));
  }
});

test('of an error its code is shown, else its name, and never its message', () => {
  assert.deepEqual(errorType(Object.assign(new Error('password'), { code: 'ECONNRESET' })), {
    'error.type': 'ECONNRESET',
  });
  assert.deepEqual(errorType(new TypeError('password')), { 'error.type': 'TypeError' });
  for (const other of [undefined, null, 'password', { code: 5, name: '' }]) {
    assert.deepEqual(errorType(other), { 'error.type': '_OTHER' });
  }
});

test('what is no text and no number is left out', () => {
  assert.deepEqual(['', 'a', 1, null].map(text), [undefined, 'a', undefined, undefined]);
  assert.deepEqual(['', '12', 12, 'x', Number.NaN, null].map(number), [
    undefined,
    12,
    12,
    undefined,
    undefined,
    undefined,
  ]);
});
