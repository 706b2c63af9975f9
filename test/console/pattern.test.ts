import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Pattern } from '../../src/console/views/tail/pattern.ts';

/** Expressions over few letters, so that they match often. */
const { expression } = fc.letrec<{ expression: string; atom: string; piece: string }>((tie) => ({
  atom: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      'a',
      'b',
      'C',
      '.',
      '\\d',
      '\\W',
      '\\s',
      '[ab]',
      '[^a]',
      '[a-c\\d]',
      '\\x61',
      '\\u0062',
      '\\.',
      '\\n',
    ),
    tie('expression').map((inner) => `(${inner})`),
    tie('expression').map((inner) => `(?:${inner})`),
  ),
  piece: fc.oneof(
    fc
      .tuple(tie('atom'), fc.constantFrom('', '', '*', '+', '?', '*?', '+?', '??', '{2}', '{1,3}', '{2,}', '{0,2}?'))
      .map((parts) => parts.join('')),
    fc.constantFrom('^', '$', '\\b', '\\B'),
  ),
  expression: fc
    .array(
      fc.array(tie('piece'), { maxLength: 3 }).map((parts) => parts.join('')),
      { minLength: 1, maxLength: 2 },
    )
    .map((parts) => parts.join('|')),
}));
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A', 'B', '1', '.', ' ', '\n'), maxLength: 12 });

function compiled(...[source, flags]: ConstructorParameters<typeof Pattern>): Pattern | undefined {
  try {
    return new Pattern(source, flags);
  } catch (error) {
    if (error instanceof SyntaxError && error.message === 'The expression is too long') return undefined;
    throw error;
  }
}

test('an expression matches what the expression of JavaScript matches', () => {
  fc.assert(
    fc.property(
      expression,
      text,
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      (source, input, ignoreCase, dotAll, multiline) => {
        const flags = `${ignoreCase ? 'i' : ''}${dotAll ? 's' : ''}${multiline ? 'm' : ''}`;
        const expected = new RegExp(source, flags).exec(input);
        const pattern = compiled(source, flags);
        fc.pre(pattern !== undefined);
        assert.equal(pattern.test(input), expected !== null);
        const found = pattern.find(input);
        assert.equal(found?.[0], expected?.index);
      },
    ),
    { numRuns: 1000 },
  );
});

for (const [source, input, range] of [
  ['timeout=\\d+ms', 'took long: timeout=1500ms, gave up', [11, 25]],
  ['a+', 'xaaay', [1, 4]],
  ['a+?', 'xaaay', [1, 2]],
  ['foo|foobar', 'a foobar', [2, 5]],
  ['[^\\s"]+$', 'GET "/a/b"', undefined],
  ['\\berror\\b', 'errors error', [7, 12]],
  ['^$', '', [0, 0]],
  ['x{3}', 'xxxx', [0, 3]],
  ['a{,2}', 'a{,2}', [0, 5]],
  ['[]', 'abc', undefined],
  ['[\\]-]', 'a]', [1, 2]],
] as const) {
  test(`/${source}/ in ${JSON.stringify(input)}`, () => {
    assert.deepEqual(new Pattern(source).find(input), range);
  });
}

test('an expression that would keep a backtracking matcher busy for years takes time in proportion to the text', () => {
  const text = `${'a'.repeat(10_000)}!`;
  for (const source of ['(a+)+$', '^(a|a)*$', '(.*a){12}b', '([a-z]+)*\\d', '(a|b|ab)*c', 'a*a*a*a*a*a*a*b']) {
    const began = performance.now();
    assert.equal(new Pattern(source).test(text), false);
    const took = performance.now() - began;
    assert.ok(took < 2000, `${source} took ${took} ms`);
  }
});

for (const [source, why] of [
  ['(', /Unterminated group/],
  ['a)', /Unmatched/],
  ['*a', /Nothing to repeat/],
  ['a**', /Nothing to repeat/],
  ['[a', /Unterminated character class/],
  ['a\\', /at end of pattern/],
  ['[b-a]', /out of order/],
  ['a{3,2}', /out of order/],
  ['(a)\\1', /not supported/],
  ['(?=a)', /not supported/],
  ['(?<name>a)', /not supported/],
  ['\\p{L}', /not supported/],
  ['((a{100}){100}){100}', /too long/],
] as const) {
  test(`/${source}/ is refused`, () => {
    assert.throws(() => new Pattern(source), { name: 'SyntaxError', message: why });
  });
}
