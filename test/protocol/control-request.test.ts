import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controlRequestSchema } from '../../src/wire/control-request.ts';
import { firstIssue } from '../../src/wire/issues.ts';

/** The dot path of the first thing wrong with a body, or `undefined` when nothing is. */
function wrongField(body: unknown): string | undefined {
  const { error } = controlRequestSchema.safeParse(body);
  return error === undefined ? undefined : firstIssue(error).field;
}

test('a single category name stands for a list of one, and a duration becomes seconds', () => {
  const parsed = controlRequestSchema.parse({
    action: 'enable',
    categories: 'DATABASE',
    options: { temporary: true, duration: '5m', reason: 'checkout is slow' },
  });
  assert.deepEqual(parsed, {
    action: 'enable',
    categories: ['DATABASE'],
    options: { temporary: true, duration: 300, reason: 'checkout is slow' },
  });
});

test('custom categories carry the prefix X-', () => {
  assert.equal(wrongField({ action: 'enable', categories: ['X-BILLING', 'X-A_B-9'] }), undefined);
  for (const name of ['x-BILLING', 'X-', 'X-9', 'X_-A', 'A-B', `X-A${'B'.repeat(62)}`]) {
    assert.notEqual(wrongField({ action: 'enable', categories: [name] }), undefined, name);
  }
});

test('reset and status take temporary: false, which changes nothing, with or without categories', () => {
  for (const action of ['reset', 'status']) {
    for (const rest of [{}, { categories: ['A'] }]) {
      assert.equal(wrongField({ action, ...rest, options: { temporary: false } }), undefined);
      assert.equal(wrongField({ action, ...rest, options: { temporary: true } }), 'options.temporary');
    }
  }
});

test('categories may be left out for reset and status alone', () => {
  assert.equal(wrongField({ action: 'reset' }), undefined);
  assert.equal(wrongField({ action: 'status' }), undefined);
  for (const action of ['enable', 'disable', 'toggle']) assert.equal(wrongField({ action }), 'categories');
});

test('what could be misread is refused, and the field is named', () => {
  const enable = { action: 'enable', categories: ['A'] };
  const cases: [unknown, string][] = [
    [{ ...enable, action: 'on' }, 'action'],
    [{ ...enable, catagories: [] }, 'catagories'],
    [{ ...enable, categories: [] }, 'categories'],
    [{ ...enable, categories: ['A', 'b'] }, 'categories.1'],
    [{ ...enable, categories: ['A', 7] }, 'categories.1'],
    [{ ...enable, categories: 'a' }, 'categories'],
    [{ ...enable, categories: 7 }, 'categories'],
    [{ ...enable, categories: ['A', 'A'] }, 'categories'],
    [{ ...enable, options: { durration: 5 } }, 'options.durration'],
    [{ ...enable, options: { duration: '5x' } }, 'options.duration'],
    [{ ...enable, options: { temporary: 'yes' } }, 'options.temporary'],
    [{ ...enable, options: { temporary: false, duration: 5 } }, 'options.duration'],
    [{ ...enable, options: { reason: '' } }, 'options.reason'],
    [{ ...enable, options: { reason: 'a\u001b[31mb' } }, 'options.reason'],
    [{ ...enable, options: { reason: 'a'.repeat(501) } }, 'options.reason'],
    [{ ...enable, options: { reason: 'a\ud83d' } }, 'options.reason'],
    [{ ...enable, options: null }, 'options'],
    [{ action: 'reset', options: { duration: 5 } }, 'options.duration'],
    [JSON.parse('{"action":"enable","categories":["A"],"__proto__":{"x":1}}'), '__proto__'],
    [JSON.parse('{"action":"enable","categories":["A"],"options":{"constructor":1}}'), 'options.constructor'],
  ];
  for (const [body, field] of cases) assert.equal(wrongField(body), field, JSON.stringify(body));
});

test('a level is one of six, for enable alone; one that quietens ends, and is for all work and lines', () => {
  const wrong = (action: string, options: object) => {
    const { error } = controlRequestSchema.safeParse({ action, categories: 'A', options });
    const { field, message } = error === undefined ? { field: '', message: '' } : firstIssue(error);
    return `${field} ${message}`.trim();
  };
  const level = 'options.otelrdcp_level';
  for (const each of ['silly', 'trace', 'debug', 'info', 'warn', 'error']) {
    assert.equal(wrong('enable', { otelrdcp_level: each }), '');
    assert.equal(wrong('enable', { otelrdcp_level: each, temporary: true }), '');
    assert.equal(wrong('disable', { otelrdcp_level: each }), `${level} is not allowed for disable`);
  }
  for (const each of ['fatal', 'WARN', 'verbose', '', 4, null]) {
    assert.match(wrong('enable', { otelrdcp_level: each }), /^options\.otelrdcp_level must be one of "silly".*"error"/);
  }
  for (const action of ['toggle', 'reset', 'status']) {
    assert.equal(wrong(action, { otelrdcp_level: 'info' }), `${level} is not allowed for ${action}`);
  }
  assert.equal(wrong('enable', { otelrdcp_level: 'info', temporary: false }), '');
  assert.equal(
    wrong('enable', { otelrdcp_level: 'warn', temporary: false }),
    `${level} needs a temporary control for warn`,
  );
  const part = { otelrdcp_filter: { text: 'a*' } };
  assert.equal(wrong('enable', { otelrdcp_level: 'trace', ...part }), '');
  assert.equal(
    wrong('enable', { otelrdcp_level: 'error', ...part }),
    `${level} must be one of silly, trace, debug, info for a part of the work or of the lines, and for a document`,
  );
});

test('a character of a reason counts once, also where UTF-16 takes two units for it', () => {
  const withReason = (reason: string) => ({ action: 'reset', options: { reason } });
  assert.equal(wrongField(withReason('\u{1f422}'.repeat(500))), undefined);
  assert.equal(wrongField(withReason('\u{1f422}'.repeat(501))), 'options.reason');
});
