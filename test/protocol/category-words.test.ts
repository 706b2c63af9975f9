import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { CategoryNames } from '../../src/adopt/names.ts';
import { isSelected, parseSelection } from '../../src/tools/cli/names.ts';
import type { DiscoveredActivation, DiscoveredCategory, TenantSettings } from '../../src/wire/messages.ts';
import { allowing, matchesAny, patternMatcher } from '../../src/wire/names.ts';
import { createRedaction } from '../../src/wire/redaction.ts';
import { shellWords } from '../../src/wire/shell-words.ts';
import { endOf, isOn, isOnForAll, isPartlyOn, partsOf, statesOf, whomOf } from '../../src/wire/words/state.ts';
import fc from '../support/fast-check.ts';

const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00.000Z`;

function category(given: Partial<DiscoveredCategory> = {}): DiscoveredCategory {
  return {
    name: 'DATABASE',
    description: '',
    enabled: false,
    temporary: false,
    metrics: { callsTotal: 0, callsPerSecond: 0 },
    otelrdcp_default: false,
    otelrdcp_origin: 'default',
    ...given,
  };
}

function activation(given: Partial<DiscoveredActivation>): DiscoveredActivation {
  return { id: 'a1', categories: ['DATABASE'], expiresAt: at(9), ...given };
}

const SETTINGS: TenantSettings = {
  temporary: 1,
  permanent: 1,
  tenants: [
    { id: 'acme', enabled: true, temporary: false },
    { id: 'beta', enabled: false, temporary: false },
    { id: 'globex', enabled: true, temporary: true, expiresAt: at(5), control: { userId: 'ann', since: at(1) } },
  ],
  more: 0,
};

test('a category that is off is on for its tenants and activations alone, the soonest end first', () => {
  const partly = category({
    otelrdcp_settings: SETTINGS,
    otelrdcp_activations: [activation({ target: { match: { 'user.id': '42' } }, expiresAt: at(3) })],
  });
  assert.equal(isPartlyOn(partly), true);
  assert.deepEqual(
    partsOf(partly).map(({ whom, expiresAt }) => [whom, expiresAt]),
    [
      ['user.id=42', at(3)],
      ['globex', at(5)],
      ['acme', undefined],
    ],
  );
  assert.equal(whomOf(partly, 'everybody'), 'only user.id=42, globex and 1 more');
  assert.equal(endOf(partly), at(3));
});

test('tenants that are off are left out where it is off, and named where it is on for everybody', () => {
  assert.equal(whomOf(category({ otelrdcp_settings: SETTINGS }), 'everybody'), 'only globex, acme');
  const on = category({ enabled: true, otelrdcp_origin: 'global', otelrdcp_settings: SETTINGS });
  assert.equal(whomOf(on, 'everybody'), 'everybody but beta');
  const off: TenantSettings = { temporary: 0, permanent: 0, tenants: SETTINGS.tenants.slice(1, 2), more: 0 };
  assert.equal(isPartlyOn(category({ otelrdcp_settings: off })), false);
});

test('tenants that are not listed are counted', () => {
  const many: TenantSettings = { temporary: 30, permanent: 0, tenants: SETTINGS.tenants.slice(2), more: 29 };
  assert.equal(whomOf(category({ otelrdcp_settings: many }), 'everybody'), 'only globex and 29 more');
});

test('an activation names its work and lines, and says which values are hidden', () => {
  const whom = (given: Partial<DiscoveredActivation>) =>
    whomOf(category({ otelrdcp_activations: [activation(given)] }), 'everybody');
  assert.equal(whom({ target: { request: true } }), 'only one request');
  assert.equal(whom({ target: { match: { 'user.id': 'hmac:0123456789ab' } } }), 'only user.id=(hidden)');
  assert.equal(whom({ tenant: 'acme', filter: { where: 'rows > 9', sample: 0.01 } }), 'only acme, where rows > 9, 1 %');
  const on = category({ enabled: true, otelrdcp_activations: [activation({ filter: { text: 'query*' } })] });
  assert.equal(whomOf(on, 'everybody'), 'everybody; text query*');
  // As that of an alert whose rule narrows nothing.
  const alert = category({ otelrdcp_activations: [activation({})] });
  assert.equal(whomOf(alert, 'everybody'), 'everybody');
  assert.equal(isOnForAll(alert), true);
  assert.deepEqual(
    partsOf(alert).map((part) => part.whom),
    ['everybody'],
  );
});

test('the end of a category that is on is its own', () => {
  const on = category({ enabled: true, temporary: true, otelrdcp_expiresAt: at(7), otelrdcp_settings: SETTINGS });
  assert.equal(endOf(on), at(7));
  assert.equal(isPartlyOn(on), false);
});

test('a state says for whom it is and how long, and with activations alone the category is on', () => {
  const now = Date.parse(at(0));
  const words = (given: Partial<DiscoveredCategory>) =>
    statesOf(category(given), now).map(({ state, whom }) => `${state} ${whom}`);
  const timed = { enabled: true, temporary: true, otelrdcp_expiresAt: at(5) };
  const one = { otelrdcp_activations: [activation({ target: { match: { 'user.id': '42' } } })] };
  const failures = { otelrdcp_activations: [activation({ when: { failed: true } })] };
  const off: TenantSettings = { temporary: 0, permanent: 0, tenants: SETTINGS.tenants.slice(1, 2), more: 0 };
  const recording = (given: Partial<DiscoveredActivation>) => ({
    otelrdcp_recorded: true as const,
    otelrdcp_activations: [activation({ record: true, ...given })],
  });
  const { expiresAt: _, ...endless } = activation({ record: true, tenant: 'acme' });
  const rows: [Partial<DiscoveredCategory>, string[]][] = [
    [{}, ['off -']],
    [{ enabled: true }, ['on -']],
    [timed, ['on 5m 0s']],
    [{ enabled: true, temporary: true }, ['on a while']],
    [{ ...timed, otelrdcp_level: 'info' }, ['on 5m 0s, from info up']],
    [{ ...timed, otelrdcp_level: 'warn' }, ['quiet 5m 0s, quiet below warn']],
    [{ otelrdcp_settings: SETTINGS }, ['on 2 tenants']],
    [{ ...timed, otelrdcp_settings: off }, ['on 5m 0s', 'off beta, permanent']],
    [one, ['on user.id=42, 9m 0s']],
    [{ ...timed, ...one }, ['on 5m 0s', 'on user.id=42, 9m 0s']],
    [{ otelrdcp_activations: [activation({})] }, ['on 9m 0s']],
    [
      { ...failures, otelrdcp_recorder: { written: 3, forgotten: 9, cut: 0 } },
      ['on recording failures, 3 written, 9m 0s'],
    ],
    [{ temporary: true, otelrdcp_expiresAt: at(5), ...one }, ['off 5m 0s', 'on user.id=42, 9m 0s']],
    [{ otelrdcp_recorded: true }, ['recorded -']],
    [{ enabled: true, otelrdcp_recorded: true }, ['on -']],
    [recording({}), ['recorded 9m 0s']],
    [{ otelrdcp_recorded: true, otelrdcp_activations: [endless] }, ['recorded acme, permanent']],
    [
      { ...recording({}), otelrdcp_activations: [...one.otelrdcp_activations, activation({ record: true })] },
      ['on user.id=42, 9m 0s', 'recorded 9m 0s'],
    ],
    [{ ...recording({}), temporary: true, otelrdcp_expiresAt: at(5) }, ['off 5m 0s', 'recorded 9m 0s']],
  ];
  for (const [given, expected] of rows) {
    assert.deepEqual(words(given), expected);
    assert.equal(
      isOn(category(given)),
      expected.some((row) => /^(?:on|quiet)/.test(row)),
      expected.join(),
    );
  }
});

/** By the definition: each star stands for nothing, or for one more character. */
function matchesByDefinition(pattern: string, text: string, one?: string): boolean {
  if (pattern === '') return text === '';
  const rest = pattern.slice(1);
  if (pattern[0] === '*') {
    return matchesByDefinition(rest, text, one) || (text !== '' && matchesByDefinition(pattern, text.slice(1), one));
  }
  return text !== '' && (pattern[0] === one || pattern[0] === text[0]) && matchesByDefinition(rest, text.slice(1), one);
}

const textOf = (...letters: string[]) => fc.string({ unit: fc.constantFrom(...letters), maxLength: 8 });

test('a pattern matches what its definition says, and a value only by a star at its end', () => {
  fc.assert(
    fc.property(textOf('a', 'b', '?', '*'), textOf('a', 'b', '?'), (pattern, text) => {
      assert.equal(patternMatcher(pattern)(text), matchesByDefinition(pattern, text));
      assert.equal(patternMatcher(pattern, { one: '?' })(text), matchesByDefinition(pattern, text, '?'));
      const start = pattern.slice(0, -1);
      assert.equal(allowing(pattern)(text), pattern.endsWith('*') ? text.startsWith(start) : pattern === text);
    }),
    { numRuns: 2000 },
  );
});

test('a pattern of many stars takes no power of the length of the text, wherever it is given', () => {
  const pattern = `${'A*'.repeat(6)}B`;
  const text = 'A'.repeat(4000);
  const names = new CategoryNames([{ match: pattern, exclude: true }], assert.fail);
  assert.ok(names.assign(text));
  assert.equal(isSelected(parseSelection([pattern]), text), false);
  assert.equal(isSelected(parseSelection([`?${pattern}`]), text), false);
  assert.equal(createRedaction([pattern]).hides(text), false);
  assert.equal(matchesAny([pattern], text), false);
});

const HOSTILE = [
  '',
  ' ',
  'two  words',
  "it's",
  "'; touch /tmp/pwned; '",
  '"double" \\" \\',
  '$(id) `id` $HOME',
  'a\nb\n',
  '\t\r',
  '-rf',
  '--',
  '=ls',
  '~',
  '*? [a-z] {a,b}',
  '#comment',
  '!history ^a^b',
  'a;b|c&d<e>f(g)',
  '%s\\n',
  'größe 価格 👍🏽',
  '\u202ereversed',
];

test('words of any text arrive at a program as they were, in every shell', (t) => {
  for (const shell of ['sh', 'bash', 'zsh']) {
    const printed = (command: string) => execFileSync(shell, ['-c', command], { encoding: 'utf8', stdio: 'pipe' });
    try {
      printed(':');
    } catch {
      t.diagnostic(`${shell} is not there`);
      continue;
    }
    const words = printed(`printf '%s\\0' ${shellWords(...HOSTILE)}`).split('\0');
    assert.deepEqual(words.slice(0, -1), HOSTILE, shell);
  }
  assert.equal(shellWords('rdcp', 'tail', 'A_1', '--for', '5m'), 'rdcp tail A_1 --for 5m', 'plain words stay plain');
});
