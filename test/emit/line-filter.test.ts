import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DebugRecord } from '../../src/wire/debug-record.ts';
import { compileLineFilter } from '../../src/wire/line-filter.ts';
import type { LineFilter } from '../../src/wire/target.ts';
import fc from '../support/fast-check.ts';

const LINE: DebugRecord = {
  timestamp: '2026-01-01T00:00:00.000Z',
  severity: 'DEBUG',
  category: 'DATABASE',
  message: 'query on orders took long',
  attributes: {
    rows: 1500,
    table: 'orders',
    'http.route': '/orders',
    'user.id': '42',
    'tenant.id': 7,
    'by.name.first': 'Ann',
    tags: ['slow', 'cold'],
    by: { user: 'ann' },
  },
  tenant: 'acme',
  traceId: '0af7651916cd43dd8448eb2180000000',
};

async function passes(filter: LineFilter, line: Partial<DebugRecord> = {}, random = 0): Promise<boolean> {
  return (await compileLineFilter(filter, () => random))({ ...LINE, ...line }, 'vm:4205') === true;
}

/** A text of the message's length, doubled over and over. */
function doubling(times: number): string {
  const names = Array.from({ length: times }, (_, at) => String.fromCharCode('a'.charCodeAt(0) + at));
  const binds = names.map(
    (name, at) => `cel.bind(${name}, ${at === 0 ? 'message' : `${names[at - 1]} + ${names[at - 1]}`}, `,
  );
  return `${binds.join('')}${names.at(-1)}.size() > 0${')'.repeat(times)}`;
}

describe('a filter of lines by an expression', () => {
  for (const where of [
    'rows > 1000 && table == "orders"',
    'rows == 1500',
    'rows in [1500, 2]',
    'rows > 1000.5',
    'attributes["http.route"] == "/orders"',
    'by.user == "ann"',
    'user.id == "42" && by.user == "ann"',
    'http.route.startsWith("/ord") && tenant.id == 7 && has(user.id) && !has(user.name)',
    'by.name.first == "Ann" && attributes["by.name.first"] == "Ann"',
    'has(attributes.rows)',
    'tags.exists(tag, tag == "slow")',
    'message.contains("orders") && category == "DATABASE" && tenant == "acme" && instance == "vm:4205"',
    'missing > 5 || rows > 5',
    'tags.filter(tag, tag.startsWith("s")).size() == 1',
    'timestamp("2026-01-01T00:00:00Z") < timestamp("2026-01-02T00:00:00Z") && duration("1s") < duration("1m")',
    '"table" in attributes && !("toString" in attributes) && message.lowerAscii().indexOf("orders") == 9',
    'attributes.exists(name, attributes[name] == "orders")',
  ]) {
    it(`passes lines for which ${where}`, async () => assert.equal(await passes({ where }), true));
  }

  for (const where of [
    'rows > 2000',
    'missing > 5',
    'missing != "x"',
    '!(missing == "x")',
    'table > 3',
    'has(attributes.missing)',
    'constructor == "x"',
    'attributes.constructor == "x"',
    'attributes["__proto__"] == "x"',
    'has(attributes.constructor)',
    '"__proto__" in attributes || "constructor" in by',
    'rows.constructor.name == "Number"',
    'tags.constructor != 1',
    'rows',
  ]) {
    it(`passes none for which ${where} is false or cannot be evaluated`, async () => {
      assert.equal(await passes({ where }), false);
    });
  }

  for (const [where, problem] of [
    ['missing > 5', 'no field `missing`'],
    ['user.idd == "42"', 'no field `user.idd`'],
    ['attributes["user.idd"] == "42"', 'no field `user.idd`'],
    ['attributes.missing == "42"', 'no field `missing`'],
    ['attributes[table] == 1', 'no such field'],
    ['table > 3', 'no such overload: string > int'],
  ] as const) {
    it(`says without a value of the line why ${where} cannot be evaluated`, async () => {
      assert.deepEqual((await compileLineFilter({ where }, () => 0))(LINE, 'vm:4205'), { problem });
    });
  }

  for (const [where, problem] of [
    ['rows >', 'filter.where is not a valid expression at character 7: Unexpected token: EOF'],
    ['message + 1 == 2', /at character 1: no such overload: string \+ int/],
    ['"text"', 'filter.where is not a valid expression: the result is string, not true or false'],
    ['message.matches("(a+)+$")', /matches\(\) is not available/],
    [doubling(14), /bind\(\) is not available/],
    ['message.split("").map(c, message).join("").contains("b")', /join\(\) is not available/],
    ['message.split("").exists(c, c == "b")', /split\(\) is not available/],
    ['bytes(message).json().a == 1', /json\(\) is not available/],
    ['timestamp(message).getHours("Asia/Tokyo") == 1', /getHours\(\) is not available/],
    ['tags.exists(a, tags.exists(b, a == b))', /could take \d+ steps on a line; 1000 are allowed/],
    [`${'('.repeat(100)}true${')'.repeat(100)}`, /is not a valid expression/],
    [Array(200).fill('true').join(' && '), /is not a valid expression/],
    ['__proto__ == 1', /Reserved identifier/],
  ] as const) {
    it(`is refused: ${where.slice(0, 40)}`, async () => {
      await assert.rejects(passes({ where }), { code: 'RDCP_MALFORMED_REQUEST', message: problem });
    });
  }

  it('never throws and never passes what is not true, whatever the attributes are', async () => {
    const filter = await compileLineFilter({ where: 'a == b && c > 1' }, Math.random);
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'message', '__proto__'), fc.jsonValue()),
        async (given) => {
          const attributes = given as DebugRecord['attributes'];
          const { a, b, c } = given as Record<string, unknown>;
          const passed = filter({ ...LINE, attributes }, 'vm:1');
          if (passed === true) assert.deepEqual([typeof c, a], ['number', b]);
        },
      ),
    );
  });
});

describe('a filter of lines by their message', () => {
  for (const [text, expected] of [
    ['query*', true],
    ['*long', true],
    ['*orders*', true],
    ['query*orders*long', true],
    ['query on orders took long', true],
    ['query', false],
    ['*order', false],
    ['long*', false],
    ['query*long*orders*', false],
    ['query on orders took long*long', false],
    ['*', true],
  ] as const) {
    it(`${expected ? 'passes' : 'does not pass'} the line for ${text}`, async () => {
      assert.equal(await passes({ text }), expected);
    });
  }

  it('takes time that grows with the message alone', async () => {
    const filter = await compileLineFilter({ text: `${'a*'.repeat(120)}b` }, Math.random);
    assert.equal(filter({ ...LINE, message: 'a'.repeat(8000) }, 'vm:1'), false);
  });
});

describe('a sample of lines', () => {
  it('has all lines of a trace or none of them', async () => {
    assert.equal(await passes({ sample: 0.4 }), false);
    assert.equal(await passes({ sample: 0.6 }), true);
    assert.equal(await passes({ sample: 0.6 }, {}, 0.99), true);
  });

  it('has a share of the calls without a trace', async () => {
    const without = { traceId: undefined } as unknown as Partial<DebugRecord>;
    assert.equal(await passes({ sample: 0.1 }, without, 0.05), true);
    assert.equal(await passes({ sample: 0.1 }, without, 0.5), false);
  });

  it('is of what the other conditions let through', async () => {
    assert.equal(await passes({ sample: 1, text: 'query*', where: 'rows > 1000' }), true);
    assert.equal(await passes({ sample: 1, text: 'query*', where: 'rows > 2000' }), false);
  });
});
