import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PATHS } from '../../src/wire/constants.ts';
import { startServer, type TestRequest } from '../support/server.ts';

const command = (action: string): TestRequest => ({
  method: 'POST',
  key: 'operator',
  body: { action, categories: ['DATABASE'] },
});

test('what was switched can be ended after the limit on controls, up to 600 a minute', async (t) => {
  const server = await startServer(t, { config: { limits: { controlPerMinute: 2 } } });
  const statusOf = async (action: string) => (await server.request(PATHS.control, command(action))).status;
  assert.deepEqual([await statusOf('enable'), await statusOf('enable'), await statusOf('enable')], [200, 200, 429]);
  assert.deepEqual([await statusOf('reset'), await statusOf('disable'), await statusOf('toggle')], [200, 200, 429]);
  assert.equal(server.gate.category('DATABASE').enabled, false);
  const wrong = await server.request(PATHS.control, { ...command('reset'), body: { action: 'reset', what: 1 } });
  assert.equal(wrong.status, 429);
  let ended = 0;
  while ((await statusOf('reset')) === 200) ended += 1;
  assert.ok(ended > 580 && ended < 600, `${ended}`);
});
