import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandOf, receiptOf } from '../../src/tools/console/state/change.ts';
import {
  EVERYTHING,
  limitsOf,
  onlyWith,
  partOfQuery,
  queryOfPart,
  readPart,
} from '../../src/tools/console/state/part.ts';
import { href, parseRoute } from '../../src/tools/console/state/route.ts';
import type { ControlResponse } from '../../src/wire/messages.ts';

test('empty fields mean all work and all lines', () => {
  assert.deepEqual(readPart(EVERYTHING), {});
  assert.deepEqual(readPart({ ...EVERYTHING, match: [' ', ''], where: ' ', sample: ' ', count: ' ' }), {});
});

test('fields become a target and a filter', () => {
  const typed = {
    ...EVERYTHING,
    match: [' user.id = 42', 'url.path=/a=b'],
    where: 'rows > 1000',
    text: 'query*',
    sample: '1/100',
  };
  assert.deepEqual(readPart(typed), {
    target: { match: { 'user.id': '42', 'url.path': '/a=b' } },
    filter: { where: 'rows > 1000', text: 'query*', sample: 0.01 },
  });
  assert.deepEqual(readPart({ ...typed, request: true }), {
    target: { request: true },
    filter: { where: 'rows > 1000', text: 'query*', sample: 0.01 },
  });
});

test('a condition without name or value, and a share that is no number, say what is wrong', () => {
  for (const condition of ['42', '=42', 'user.id=']) {
    assert.match(String(readPart({ ...EVERYTHING, match: [condition] })), /must be NAME=VALUE/);
  }
  for (const sample of ['0', '-1', '1.5', 'x']) {
    assert.match(String(readPart({ ...EVERYTHING, sample })), /^Share of the traces: must be a share above 0/);
  }
});

test('processes, failures and slow work are chosen too', () => {
  const typed = {
    processes: 'shop-1:4200, shop-2:1',
    version: '2.4.1',
    percent: '10%',
    failed: true,
    slowerThan: '2s',
  };
  assert.deepEqual(readPart({ ...EVERYTHING, ...typed }), {
    target: { instances: { ids: ['shop-1:4200', 'shop-2:1'], version: '2.4.1', percent: 10 } },
    when: { failed: true, slowerThan: '2s' },
  });
  assert.deepEqual(readPart({ ...EVERYTHING, count: '2' }), { target: { instances: { count: 2 } } });
  for (const percent of ['0', '101%', 'all']) {
    assert.match(String(readPart({ ...EVERYTHING, percent })), /must be above 0, up to 100/);
  }
  for (const count of ['0', '1.5']) assert.match(String(readPart({ ...EVERYTHING, count })), /whole number/);
  assert.match(String(readPart({ ...EVERYTHING, count: '1', percent: '5' })), /cannot be combined/);
  assert.match(String(readPart({ ...EVERYTHING, slowerThan: '2 weeks' })), /such as 2s/);
});

test('the address keeps the part of a tail', () => {
  const part = {
    ...{ match: ['user.id=4 2', 'a=b&c'], where: 'message == "x"', text: 'a*', sample: '1/10' },
    ...{ failed: true, slowerThan: '2s', processes: 'shop-1:4200', version: '2.4.1', count: '', percent: '10' },
  };
  assert.deepEqual(partOfQuery(parseRoute(href('tail', undefined, queryOfPart(part))).query), part);
  assert.deepEqual(partOfQuery(new URLSearchParams()), EVERYTHING);
});

test('the attribute of a line narrows to the lines that have its value', () => {
  const first = onlyWith(EVERYTHING, 'table', 'or"ders', 'lines');
  assert.equal(first?.where, 'attributes["table"] == "or\\"ders"');
  const where = { ...EVERYTHING, where: 'a || b' };
  assert.equal(onlyWith(where, 'rows', 7, 'lines')?.where, '(a || b) && attributes["rows"] == 7');
  assert.equal(first && onlyWith(first, 'table', 'or"ders', 'lines'), first, 'the same again changes nothing');
  assert.equal(onlyWith(EVERYTHING, 'list', [1], 'lines'), undefined);
  const work = onlyWith({ ...EVERYTHING, match: ['user.id=1', 'a=b'] }, 'user.id', 42, 'work');
  assert.deepEqual(work?.match, ['a=b', 'user.id=42']);
  assert.deepEqual(work && limitsOf({ ...work, where: 'rows > 1', failed: true }).map(([text]) => text), [
    'a=b',
    'user.id=42',
    'Lines where rows > 1',
    'Only failures',
  ]);
});

test('an enable for a part of the work carries it, and its receipt says for whom', () => {
  const part = { target: { match: { 'user.id': '42' } }, filter: { sample: 0.5 } };
  const command = commandOf({
    intent: 'enable',
    categories: ['DATABASE'],
    seconds: 60,
    reason: '',
    budget: undefined,
    part,
  });
  assert.deepEqual(command.options, {
    temporary: true,
    duration: 60,
    otelrdcp_target: part.target,
    otelrdcp_filter: part.filter,
  });
  const answer = {
    action: 'enable',
    categories: ['DATABASE'],
    status: 'success',
    message: 'enabled',
    changes: [],
    otelrdcp_activation: { id: 'a', categories: ['DATABASE'], ...part, expiresAt: '2026-01-01T00:00:00.000Z' },
  } as unknown as ControlResponse;
  assert.equal(receiptOf(answer, '').title, 'On for user.id=42, 50 %: DATABASE');
});
