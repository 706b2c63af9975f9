import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forwardedFor, forwardedHops } from '../../src/endpoint/forwarded.ts';
import fc from '../support/fast-check.ts';

const xff = (...fields: string[]) => [...forwardedFor(fields)];
const hops = (...fields: string[]) => [...forwardedHops(fields)];

test('X-Forwarded-For is read from the last address to the first, over all its fields', () => {
  assert.deepEqual(xff('192.0.2.1, 10.0.0.2', '10.0.0.1'), ['10.0.0.1', '10.0.0.2', '192.0.2.1']);
  assert.deepEqual(xff('192.0.2.1:4711,[2001:DB8::1]:80,2001:db8::2, [2001:db8::3]'), [
    '2001:db8::3',
    '2001:db8::2',
    '2001:db8::1',
    '192.0.2.1',
  ]);
  assert.deepEqual(xff('::ffff:192.0.2.1'), ['192.0.2.1']);
});

test('what is no address in X-Forwarded-For is undefined', () => {
  for (const text of [
    '',
    'unknown',
    '_hidden',
    'localhost',
    '192.0.2',
    '192.0.2.1:',
    '192.0.2.1:x',
    '192.0.2.256',
    '[::1',
    '"192.0.2.1"',
    '1.2.3.4 5.6.7.8',
  ]) {
    assert.deepEqual(xff(text), [undefined], text);
  }
  assert.deepEqual(xff('192.0.2.1,,'), [undefined, undefined, '192.0.2.1']);
});

test('Forwarded is read as RFC 7239 has it: case, quotes, ports, brackets, parameters in any order', () => {
  for (const [field, expected] of [
    ['for=192.0.2.60;proto=http;by=203.0.113.43', ['192.0.2.60']],
    ['For="[2001:db8:cafe::17]:4711"', ['2001:db8:cafe::17']],
    ['proto=https;FOR="192.0.2.60:47011"; host="a,b;c=d"', ['192.0.2.60']],
    ['for=192.0.2.43, for="[2001:db8:cafe::17]"', ['2001:db8:cafe::17', '192.0.2.43']],
    ['for="192.0.2.\\60"', ['192.0.2.60']],
    ['for="192.0.2.60:_port"', ['192.0.2.60']],
    ['for=192.0.2.60:80', ['192.0.2.60']],
    ['for=192.0.2.60;', ['192.0.2.60']],
    ['; for=192.0.2.60 ;; proto=http', ['192.0.2.60']],
  ] as const) {
    assert.deepEqual(hops(field), expected, field);
  }
});

test('an element of Forwarded that is obfuscated, unknown, malformed or without an address is undefined', () => {
  for (const field of [
    'for=unknown',
    'for=_hidden',
    'for="_SEVKISEK"',
    'proto=https',
    '',
    'for',
    'for=',
    'for=1.2.3.4;for=5.6.7.8',
    'for="1.2.3.4',
    'for=1.2.3.4;x',
    'for==1.2.3.4',
    '192.0.2.1',
  ]) {
    assert.deepEqual(hops(field), [undefined], field);
  }
});

test('what a client left open does not reach into what a proxy wrote behind it', () => {
  for (const forged of ['for="', 'for="6.6.6.6', 'for=6.6.6.6;x="\\', '"', 'x="\\"', 'a"b"c"']) {
    for (const written of ['for=192.0.2.1', 'for="[2001:db8::1]:80"', 'for="192.0.2.1";proto=https']) {
      const [nearest] = hops(`${forged}, ${written}`);
      assert.equal(nearest, hops(written)[0], `${forged}, ${written}`);
    }
  }
});

test('whatever is sent, it is read in time that grows with its length, and every address is one', () => {
  const pieces = fc.constantFrom('for=', '"', '\\', ',', ';', '1.2.3.4', '[::1]', ' ', 'a', '=', 'unknown', ':80');
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
      for (const found of [...xff(parts.join('')), ...hops(parts.join(''))]) {
        assert.match(found ?? '::1', /^[0-9a-f:.]+$/);
      }
    }),
  );
  const began = performance.now();
  for (const piece of ['"', ',', ';', 'for="a\\', 'a=b;', ' ', '\\']) {
    const field = piece.repeat(16_384 / piece.length);
    hops(field);
    xff(field);
  }
  assert.ok(performance.now() - began < 30_000);
});
