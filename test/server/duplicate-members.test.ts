import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONSOLE_PATHS, PATHS } from '../../src/wire/constants.ts';
import { duplicateMember } from '../../src/wire/json-text.ts';
import fc from '../support/fast-check.ts';
import { startServer } from '../support/server.ts';

const BODIES: readonly (readonly [path: string, field: string, body: string])[] = [
  [PATHS.control, 'action', '{"action":"status","action":"reset"}'],
  [PATHS.control, 'action', '{"action":"enable","categories":"HTTP","\\u0061ction":"disable"}'],
  [PATHS.control, 'reason', '{"action":"enable","categories":"HTTP","options":{"reason":"ä","reason":"b"}}'],
  [
    PATHS.control,
    'calls',
    '{"action":"enable","categories":"HTTP","options":{"otelrdcp_budget":{"calls":1,"calls":9}}}',
  ],
  [PATHS.forecast, 'duration', '{"categories":"HTTP","duration":1,"duration":60}'],
  [CONSOLE_PATHS.session, 'code', '{"code":"a","code":"b"}'],
];

test('a body that names a member twice is refused, and changes nothing', async (t) => {
  const server = await startServer(t, { config: { console: true } });
  for (const [path, field, body] of BODIES) {
    const answer = await server.request(path, { method: 'POST', key: 'admin', body });
    assert.deepEqual([answer.status, answer.body.error.code], [400, 'RDCP_MALFORMED_REQUEST'], body);
    assert.match(answer.body.error.message, new RegExp(`^${field} appears twice in one object`));
    assert.deepEqual(answer.body.error.details, { field });
  }
  assert.equal(server.gate.category('HTTP').enabled, false);
});

test('the same name in different objects, and in values, is no duplicate', async (t) => {
  const server = await startServer(t);
  const body = '{ "action": "enable", "categories": ["HTTP"], "options": { "reason": "\\"reason\\": {\\"action\\"" } }';
  assert.equal((await server.request(PATHS.control, { method: 'POST', key: 'admin', body })).status, 200);
});

test('of any JSON, exactly a text with a member added a second time has a duplicate', () => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { minKeys: 1 });
  fc.assert(
    fc.property(object, fc.nat(), (value, index) => {
      const spaced = JSON.stringify(value, null, 1);
      assert.equal(duplicateMember(spaced, JSON.parse(spaced)), undefined);
      const names = Object.keys(value);
      const name = names[index % names.length]!;
      const text = `${spaced.slice(0, -1)},${JSON.stringify(name)}:[]}`;
      assert.equal(duplicateMember(text, JSON.parse(text)), name);
    }),
  );
});
