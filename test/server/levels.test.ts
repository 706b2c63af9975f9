import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, DiscoveryResponse, ErrorResponse, StatusResponse } from '../../src/wire/messages.ts';
import { KEYS, send, type TestRequest } from '../support/server.ts';

test('a level is in the answer, in discovery, status and the trail, and what is wrong with one is said', async (t) => {
  const rdcp = createRdcp({
    server: { port: 0 },
    announce: false,
    security: {
      apiKeys: [
        { id: 'a', hash: hashApiKey(KEYS.admin), clientId: 'a', scopes: ['discovery', 'status', 'control', 'admin'] },
      ],
    },
  });
  t.after(() => rdcp.close());
  rdcp.category('LEVELED');
  const { url } = await rdcp.listen();
  const request = async <Body>(path: string, options: TestRequest = {}) =>
    (await send<Body>(url + path, { key: 'admin', ...options })).body;
  const control = <Body = ControlResponse>(action: string, options: object) =>
    request<Body>(PATHS.control, { method: 'POST', body: { action, categories: 'LEVELED', options } });

  const answer = await control('enable', { otelrdcp_level: 'warn', duration: '1m' });
  assert.equal(answer.changes[0]?.otelrdcp_level, 'warn');
  const { categories } = await request<DiscoveryResponse>(PATHS.discovery);
  const found = categories.find(({ name }) => name === 'LEVELED');
  assert.deepEqual([found?.enabled, found?.temporary, found?.otelrdcp_level], [true, true, 'warn']);
  assert.deepEqual((await request<StatusResponse>(PATHS.status)).otelrdcp_levels, { LEVELED: 'warn' });
  const { entries } = await request<AuditResponse>(`${PATHS.audit}?category=LEVELED`);
  assert.equal(entries[0]?.otelrdcp_level, 'warn');

  const part = await control('enable', { otelrdcp_level: 'info', otelrdcp_filter: { text: 'a*' } });
  assert.equal(part.otelrdcp_activation?.level, 'info');

  const refused = async (action: string, options: object) => {
    const { error } = await control<ErrorResponse>(action, options);
    assert.equal(error.details?.field, 'options.otelrdcp_level');
    return error.message;
  };
  assert.match(await refused('enable', { otelrdcp_level: 'fatal' }), /must be one of .*"warn"\|"error"/);
  assert.match(await refused('disable', { otelrdcp_level: 'info' }), /is not allowed for disable/);
  assert.match(await refused('enable', { otelrdcp_level: 'warn', temporary: false }), /needs a temporary control/);

  await control('reset', {});
  assert.equal((await request<StatusResponse>(PATHS.status)).otelrdcp_levels, undefined);
});
