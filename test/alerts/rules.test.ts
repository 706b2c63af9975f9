import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfig } from '../../src/options/config.ts';
import { isRdcpError } from '../../src/wire/errors.ts';

const RULE = { name: 'errors', match: { alertname: 'HighErrorRate' }, enable: ['DATABASE'], for: '15m' };

/** The message for a second rule with these options. */
function refusal(options: object, config: object = {}): string {
  try {
    parseConfig({ ...config, alerts: [RULE, { ...RULE, name: 'other', ...options }] });
  } catch (error) {
    assert.ok(isRdcpError(error) && error.code === 'RDCP_CONFIG_INVALID');
    return error.message.replace(/^configuration: /, '');
  }
  throw new Error(`accepted ${JSON.stringify(options)}`);
}

test('a rule with an expression that is not valid is refused, with the place of the mistake', () => {
  assert.equal(
    refusal({ filter: { where: 'rows >' } }),
    'alerts.1.filter.where is not a valid expression at character 7: Unexpected token: EOF',
  );
  assert.match(refusal({ filter: { where: 'rows + 1' } }), /^alerts\.1\.filter\.where is not a valid expression/);
  assert.match(refusal({ filter: { where: 'message.matches("a")' } }), /^alerts\.1\.filter\.where .*matches\(\)/);
  assert.match(refusal({ filter: { where: `"${'x'.repeat(512)}" == message` } }), /^alerts\.1\.filter\.where .*512/);
});

test('a rule whose target, condition or category cannot be switched is refused by the name of its field', () => {
  const cases: readonly (readonly [string, object])[] = [
    ['alerts.1.target.match', { target: {} }],
    ['alerts.1.target.match', { target: { match: {} } }],
    ['alerts.1.target.match.a b', { target: { match: { 'a b': '1' } } }],
    ['alerts.1.target.match.http.request.header.cookie', { target: { match: { 'http.request.header.cookie': 'a' } } }],
    ['alerts.1.target.match.user.password', { target: { match: { 'user.password': 'a' } } }],
    ['alerts.1.target.request', { target: { request: true } }],
    ['alerts.1.target.instances.percent', { target: { instances: { percent: 0 } } }],
    ['alerts.1.filter', { filter: {} }],
    ['alerts.1.filter.sample', { filter: { sample: 2 } }],
    ['alerts.1.when', { when: {} }],
    ['alerts.1.when.failed', { when: { failed: false } }],
    ['alerts.1.when.slowerThan', { when: { slowerThan: 'soon' } }],
    ['alerts.1.when.slowerThan', { when: { slowerThan: '2h' } }],
    ['alerts.1.when.fails', { when: { fails: true } }],
    ['alerts.1.enable.0', { enable: ['DATA*'] }],
    ['alerts.1.enable.1', { enable: ['DATABASE', 'database'] }],
    ['alerts.1.match', { match: {} }],
    ['alerts.1.match', { match: undefined }],
    ['alerts.1.match', { match: undefined, when: { failed: true } }],
    ['alerts.1.match', { when: { uncaught: true } }],
    ['alerts.1.when', { match: undefined, when: { uncaught: true, errorRate: 0.5 } }],
    ['alerts.1.when.over', { match: undefined, when: { uncaught: true, over: '1m' } }],
    ['alerts.1.when.over', { match: undefined, when: { errorRate: 0.5, over: '2h' } }],
    ['alerts.1.when.aborted', { match: undefined, when: { uncaught: true, aborted: true } }],
    ['alerts.1.when.errorRate', { match: undefined, when: { errorRate: 5 } }],
    ['alerts.1.when.errorRate', { match: undefined, when: { errorRate: 0 } }],
    ['alerts.1.when.eventLoopDelay', { match: undefined, when: { eventLoopDelay: 200 } }],
    ['alerts.1.when.uncaught', { match: undefined, when: { uncaught: false } }],
  ];
  for (const [field, options] of cases) assert.ok(refusal(options).startsWith(`${field} `), refusal(options));
});

test('an attribute that redaction hides is no target of a rule', () => {
  const target = { match: { 'http.request.header.x-session': 'a' } };
  parseConfig({ alerts: [{ ...RULE, target }] });
  assert.equal(
    refusal({ target }, { emit: { redact: ['x-session'] } }),
    'alerts.1.target.match.http.request.header.x-session is an attribute whose value is redacted',
  );
});
