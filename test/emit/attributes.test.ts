import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { buildAttributes, withError } from '../../src/calls/emit/attributes.ts';
import { messageText } from '../../src/calls/emit/built-call.ts';
import type { Attributes } from '../../src/gate/types.ts';
import { NO_REDACTION } from '../../src/wire/redaction.ts';
import fc from '../support/fast-check.ts';
import { inBoth, runs } from '../support/tiers.ts';
import { HOSTILE, revoked } from './hostile.ts';

const CATEGORY = 'PAYMENTS';
const KIB = 1024;

/** What the attributes of a call become, without the category. */
function built(given: unknown): Record<string, unknown> {
  const { 'rdcp.category.name': category, ...others } = buildAttributes(CATEGORY, given as Attributes).attributes;
  assert.equal(category, CATEGORY);
  return others;
}

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

class Order {
  readonly id = 42;
  readonly #secret = 'hidden';
  get total(): string {
    return this.#secret;
  }
}

class Money {
  readonly #json: unknown;
  readonly currency = 'EUR';
  constructor(json: unknown) {
    this.#json = json;
  }
  toJSON(): unknown {
    return this.#json;
  }
}

class PaymentError extends Error {
  readonly code = 'E_DECLINED';
  readonly config = { headers: { authorization: 'Bearer secret' } };
}

describe('an attribute', () => {
  it('that is a string, a finite number or a boolean stays what it is', () => {
    const simple = { a: 'text', b: -1.5, c: true, d: '', e: 0 };
    assert.deepEqual(built(simple), simple);
  });

  it('becomes what a person would read of it', () => {
    const cases: [unknown, unknown][] = [
      [new Date(0), '1970-01-01T00:00:00.000Z'],
      [new Date(Number.NaN), 'Invalid Date'],
      [12n, '12'],
      [Number.NaN, 'NaN'],
      [Number.NEGATIVE_INFINITY, '-Infinity'],
      [null, null],
      [Symbol('s'), 'Symbol(s)'],
      [function pay() {}, '[Function: pay]'],
      [/a+/gi, '/a+/gi'],
      [new URL('https://example.com/a?b'), 'https://example.com/a?b'],
      [new URLSearchParams({ a: '1' }), 'a=1'],
      [Buffer.from('hello'), 'aGVsbG8='],
      [new Uint8Array([1, 2]).buffer, 'AQI='],
      [new Float32Array([1.5, 2]), [1.5, 2]],
      [new BigInt64Array([7n]), ['7']],
      [new Map([['a', new Map([[1, new Set(['x'])]])]]), { a: { 1: ['x'] } }],
      [new Map([[{ key: 1 }, 'object key']]), [[{ key: 1 }, 'object key']]],
      [
        [1, undefined, [new Date(0)]],
        [1, null, ['1970-01-01T00:00:00.000Z']],
      ],
      [new Order(), { id: 42 }],
      [new (class Session {})(), '[Session]'],
      [Object.assign(Object.create(null), { bare: 1 }), { bare: 1 }],
      [{ toJSON: () => ({ amount: '1.00' }) }, { amount: '1.00' }],
      [Promise.resolve(), '[Promise]'],
      [new WeakMap(), '[WeakMap]'],
      [revoked(), "[Threw TypeError: Cannot perform 'IsArray' on a proxy that has been revoked]"],
      [new Proxy({ a: 1 }, {}), { a: 1 }],
    ];
    for (const [value, expected] of cases) {
      assert.deepEqual(built({ before: 1, value, after: 'x' }), { before: 1, value: expected, after: 'x' });
    }
  });

  it('that is undefined is left out', () => {
    assert.deepEqual(built({ a: undefined, b: 1, c: { d: undefined } }), { b: 1, c: {} });
  });

  it('that throws says so in its own place', () => {
    const hostile = {
      get getter(): unknown {
        throw new RangeError('no');
      },
      json: {
        toJSON() {
          throw new Error('not today');
        },
      },
      trapped: new Proxy({}, { ownKeys: () => assert.fail('keys') }),
      inner: {
        get bad(): unknown {
          throw 7;
        },
        good: 1,
      },
      fine: 'x',
    };
    const { trapped, ...others } = built(hostile);
    assert.match(String(trapped), /^\[Threw AssertionError: keys/);
    assert.deepEqual(others, {
      json: '[Threw Error: not today]',
      inner: { good: 1 },
      fine: 'x',
      'rdcp.attributes.truncated': ['getter', 'inner'],
    });
  });

  it('that leads back to itself names the place', () => {
    const order: Record<string, unknown> = { id: 1 };
    order.items = [{ order }];
    const attributes: Record<string, unknown> = { order };
    attributes.self = attributes;
    assert.deepEqual(built(attributes), {
      order: { id: 1, items: [{ order: '[Circular order]' }] },
      self: '[Circular]',
    });
    const shared = { a: 1 };
    assert.deepEqual(built({ x: { one: shared, two: shared } }), { x: { one: { a: 1 }, two: { a: 1 } } });
  });

  it('named __proto__ is one like any other', () => {
    const given = JSON.parse('{"__proto__":{"polluted":1},"x":{"__proto__":2}}');
    assert.equal(JSON.stringify(built(given)), JSON.stringify(given));
    assert.equal(Reflect.get({}, 'polluted'), undefined);
  });

  it('cannot take the place of the category', () => {
    assert.deepEqual(built({ 'rdcp.category.name': 'AUDIT', x: 1 }), { x: 1 });
    assert.deepEqual(built({ 'rdcp.category.name': 'AUDIT', x: [1] }), { x: [1] });
  });
});

describe('an error among the attributes', () => {
  const declined = new PaymentError('declined', { cause: new TypeError('no card', { cause: 'a string' }) });

  it('is what the record is about, by the conventions for exceptions', () => {
    for (const name of ['err', 'error', 'exception', 'anyName']) {
      const { [name]: details, ...record } = built({ order: 42, [name]: declined });
      assert.equal(record['exception.type'], 'PaymentError');
      assert.equal(record['exception.message'], 'declined');
      assert.match(String(record['exception.stacktrace']), /declined\n {4}at /);
      assert.equal(record.order, 42);
      const { code, cause, ...rest } = details as Record<string, Record<string, unknown>>;
      assert.equal(code, 'E_DECLINED');
      assert.deepEqual(rest, {}, 'objects in its fields may hold credentials');
      assert.deepEqual([cause?.type, cause?.message, cause?.cause], ['TypeError', 'no card', 'a string']);
      assert.match(String(cause?.stacktrace), /no card/);
    }
  });

  it('leaves nothing under its own name where it says no more', () => {
    assert.deepEqual(Object.keys(built({ err: new Error('boom') })), [
      'exception.type',
      'exception.message',
      'exception.stacktrace',
    ]);
  });

  it('beside another one stays under its own name', () => {
    const record = built({ first: new Error('one'), second: new Error('two') });
    assert.deepEqual(Object.keys(record), ['first', 'second']);
    assert.partialDeepStrictEqual(record, { first: { type: 'Error', message: 'one' }, second: { message: 'two' } });
    const named = built({ first: new Error('one'), error: new Error('two') });
    assert.equal(named['exception.message'], 'two');
    assert.partialDeepStrictEqual(named, { first: { message: 'one' } });
    const taken = built({ 'exception.message': 'mine', err: new Error('one') });
    assert.equal(taken['exception.message'], 'mine');
    assert.partialDeepStrictEqual(taken, { err: { message: 'one' } });
  });

  it('may stand in place of them, and stand for several', () => {
    const record = built(new AggregateError([new Error('one'), new RangeError('two')], 'many'));
    assert.equal(record['exception.message'], 'many');
    assert.partialDeepStrictEqual(record, { error: { errors: [{ message: 'one' }, { type: 'RangeError' }] } });
  });

  it('is known also from another realm, and whatever it has been made of', () => {
    assert.equal(built({ err: runInNewContext('new TypeError("foreign")') })['exception.message'], 'foreign');
    const odd = Object.defineProperties(new Error('x'), {
      message: {
        get: () => {
          throw new Error('hidden');
        },
      },
      stack: { value: 5 },
    });
    odd.cause = odd;
    assert.deepEqual(built({ err: odd }), {
      'exception.type': 'Error',
      'exception.message': 'undefined',
      err: { cause: '[Circular err]' },
    });
  });

  it('has an end however long its chain of causes is', () => {
    let error = new Error('root');
    for (let i = 0; i < 1000; i++) error = new Error(`level ${i}`, { cause: error });
    const record = built({ err: error });
    assert.equal(record['exception.message'], 'level 999');
    assert.ok(bytes(record.err) <= 8 * KIB);
    assert.deepEqual(record['rdcp.attributes.truncated'], ['err']);
  });
});

it('something that was passed in place of attributes is not lost', () => {
  const cases: [unknown, object][] = [
    ['text', { value: 'text' }],
    [[1, 2], { value: [1, 2] }],
    [new Date(0), { value: '1970-01-01T00:00:00.000Z' }],
    [new Map([['a', 1]]), { value: { a: 1 } }],
    [new Order(), { id: 42 }],
    [
      { toJSON: () => 'ignored', a: 1 },
      { toJSON: '[Function: toJSON]', a: 1 },
    ],
    ...[null, () => undefined].map((nothing): [unknown, object] => [nothing, {}]),
    // An object that says its own JSON is taken at its word.
    [new Money({ amount: 1 }), { amount: 1 }],
    ...['1.00 EUR', null, [1, 2]].map((json): [unknown, object] => [new Money(json), { value: json }]),
  ];
  for (const [given, expected] of cases) assert.deepEqual(built(given), expected);
  assert.match(String(built(revoked())['rdcp.attributes.error']), /^the attributes threw TypeError: /);
});

describe('what is too large', () => {
  it('is cut to 8 KiB a value, and says so in the value and in the record', () => {
    const levels = Array.from({ length: 50 });
    const large = {
      text: '"\u0000é€😀'.repeat(1e5),
      list: new Array(1e6).fill('x'),
      map: new Map(Array.from({ length: 1e5 }, (_, key) => [key, key])),
      set: new Set(Array.from({ length: 1e5 }, (_, key) => key)),
      bytes: Buffer.alloc(1e7),
      numbers: new Float64Array(1e6),
      wide: Object.fromEntries(Array.from({ length: 1e4 }, (_, key) => [`key${key}`, key])),
      deep: levels.reduce<object>((inner) => ({ inner }), {}),
      lists: levels.reduce<unknown[]>((inner) => [inner, 2], []),
      ['n'.repeat(1e6)]: 1,
    };
    for (const [name, value] of Object.entries(large)) {
      const record = built({ [name]: value, ok: 1 });
      const [kept = ''] = Object.keys(record);
      assert.ok(bytes(record[kept]) <= 8 * KIB, `${kept.slice(0, 20)}: ${bytes(record[kept])}`);
      assert.match(JSON.stringify(record), /cut from \d+ (?:characters|bytes)|\d+ more"|\[Object\]|\[Array of 2\]/);
      assert.equal((record['rdcp.attributes.truncated'] as string[]).length, 1, kept.slice(0, 20));
      assert.equal(record.ok, 1);
    }
  });

  it('leaves room for what lies beside it', () => {
    const record = built({ response: { body: 'x'.repeat(1e6), status: 500, headers: { age: '1' } }, last: true });
    assert.partialDeepStrictEqual(record, { response: { status: 500, headers: { age: '1' } }, last: true });
    const fitting = { text: 'x'.repeat(5000), note: 'y'.repeat(300) };
    assert.deepEqual(built({ fitting }).fitting, fitting, 'a large field has all of the room that the others leave');
    const many = built(Object.fromEntries([...Array(50).keys()].map((i) => [`a${i}`, i % 2 ? i : 'y'.repeat(1e5)])));
    for (let i = 1; i < 50; i += 2) assert.equal(many[`a${i}`], i);
  });

  it('keeps a record within 64 KiB and 128 attributes', () => {
    const count = (n: number, value: unknown) =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`a${i}`, value]));
    const wide = built(count(1000, 1));
    assert.ok(Object.keys(wide).length <= 126);
    assert.deepEqual(wide['rdcp.attributes.truncated'], ['880 more']);
    const heavy = built(count(120, '\u0001'.repeat(1e5)));
    assert.ok(bytes(heavy) <= 56 * KIB, String(bytes(heavy)));
    assert.equal((heavy['rdcp.attributes.truncated'] as string[]).at(-1), '…');
  });
});

describe('whatever is given', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withNullPrototype: true,
    withObjectString: true,
    withBoxedValues: true,
    maxDepth: 4,
  });
  const hostile = fc.constantFrom(...HOSTILE);
  const value = fc.oneof(anything, hostile, fc.array(hostile), fc.dictionary(fc.string(), fc.oneof(anything, hostile)));
  const simple = fc.oneof(
    fc.string({ maxLength: 50 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
  );

  inBoth('becomes a bounded record that JSON holds unchanged', () => {
    fc.assert(
      fc.property(value, (given) => {
        const { attributes } = buildAttributes(CATEGORY, given as Attributes);
        const json = JSON.stringify(attributes);
        assert.ok(Buffer.byteLength(json) <= 60 * KIB);
        assert.equal(JSON.stringify(JSON.parse(json)), json);
        for (const each of Object.values(attributes)) assert.ok(bytes(each) <= 8 * KIB);
      }),
      { numRuns: runs(2000) },
    );
  });

  inBoth('leaves the simple values beside it as they are', () => {
    const names = fc.string({ minLength: 1, maxLength: 20 }).filter((name) => name !== 'rdcp.category.name');
    fc.assert(
      fc.property(fc.dictionary(names, simple, { maxKeys: 10 }), value, (others, odd) => {
        const record = built({ ...others, odd });
        for (const [name, each] of Object.entries(others)) {
          if (name !== 'odd') assert.deepEqual(Object.getOwnPropertyDescriptor(record, name)?.value, each);
        }
      }),
      { numRuns: runs(1000) },
    );
  });
});

describe('what gives itself no name', () => {
  it('is still recognized by its kind', () => {
    const unreadable = Object.defineProperty(() => {}, 'name', {
      get() {
        throw new Error('no name');
      },
    });
    const cases: [unknown, unknown][] = [
      [(() => () => {})(), '[Function: anonymous]'],
      [unreadable, '[Function: anonymous]'],
      [new (class {})(), {}],
    ];
    for (const [value, expected] of cases) assert.deepEqual(built({ value }), { value: expected });
  });

  it('is an error by its class, its message or the word itself', () => {
    const type = (error: Error) => built(error)['exception.type'] ?? built(error)['error.type'];
    class Declined extends Error {}
    const known = type(new Declined('no'));
    assert.equal(known, 'Declined');
    assert.equal(type(new (class extends Error {})('no')), 'Error');
    assert.equal(type(Object.assign(new Error('no'), { constructor: 7 })), 'Error');
    const hidden = new Proxy(new Declined('no'), {
      ownKeys: () => {
        throw new Error('keys');
      },
    });
    assert.equal(type(hidden), 'Declined', 'its own fields alone are missing');
  });
});

describe('in place of attributes', () => {
  it('an error as the message keeps the attributes beside it', () => {
    const error = new PaymentError('declined');
    const alone = built(withError(error, undefined));
    assert.equal(JSON.stringify(alone).includes('E_DECLINED'), true);
    for (const given of [{ order: 42 }, () => ({ order: 42 })]) {
      assert.deepEqual(built(withError(error, given)), { order: 42, ...alone });
    }
    const plain = { order: 42 };
    assert.equal(withError('a text', plain), plain);
  });

  it('a message that is no text becomes one', () => {
    const texts: [unknown, string][] = [
      [new PaymentError('declined'), 'declined'],
      [new PaymentError(), 'PaymentError'],
      [{ order: 42 }, '{"order":42}'],
      [undefined, 'undefined'],
      [null, 'null'],
      [7, '7'],
    ];
    for (const [given, text] of texts) assert.equal(messageText(given, NO_REDACTION), text);
  });
});
