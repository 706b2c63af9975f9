import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson } from '../../src/trail/chain.ts';
import fc from '../support/fast-check.ts';
import { inBoth, runs } from '../support/tiers.ts';

test('the example of RFC 8785, section 3.2.2', () => {
  const input = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  assert.equal(
    canonicalJson(JSON.parse(input)),
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test('the order of RFC 8785, section 3.2.3: UTF-16 code units, not code points', () => {
  const input = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  };
  assert.equal(
    canonicalJson(input),
    [
      '{"\\r":"Carriage Return"',
      '"1":"One"',
      '"\u0080":"Control"',
      '"\u00f6":"Latin Small Letter O With Diaeresis"',
      '"\u20ac":"Euro Sign"',
      '"\ud83d\ude00":"Emoji: Grinning Face"',
      '"\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ].join(','),
  );
});

test('the number samples of RFC 8785, appendix B', () => {
  const view = new DataView(new ArrayBuffer(8));
  for (const [bits, text] of [
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
  ]) {
    view.setBigUint64(0, BigInt(`0x${bits}`));
    assert.equal(canonicalJson(view.getFloat64(0)), text);
  }
});

test('members without a value are left out, as JSON does', () => {
  assert.equal(canonicalJson({ b: undefined, a: [undefined, { c: undefined }] }), '{"a":[null,{}]}');
});

test('half a surrogate pair breaks nothing, and is not mistaken for another one', () => {
  assert.equal(canonicalJson({ '\ud800': '\udfff' }), String.raw`{"\ud800":"\udfff"}`);
  assert.notEqual(canonicalJson('\ud800'), canonicalJson('\ufffd'));
});

inBoth('the same value in another order of members has the same form, and parses back', () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([name, member]) => [name, shuffled(member)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const form = canonicalJson(value);
      assert.equal(canonicalJson(shuffled(value)), form);
      assert.deepEqual(JSON.parse(form), JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: runs(100) },
  );
});
