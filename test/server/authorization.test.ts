import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { startServer } from '../support/server.ts';

test('without a credential a challenge says what is needed; with a wrong one, why it was refused', async (t) => {
  const server = await startServer(t);
  const none = await server.request(PATHS.status);
  assert.equal(none.body.error.code, 'RDCP_AUTH_REQUIRED');
  const wrong = await server.request(PATHS.status, { headers: { 'X-RDCP-API-Key': 'x'.repeat(40) } });
  assert.equal(wrong.body.error.code, 'RDCP_AUTH_FAILED');
  assert.equal(wrong.body.error.method, 'api-key');
  assert.equal(wrong.body.error.details?.reason, 'invalid_key');
  assert.deepEqual(server.authFailures, [
    ['none', 'no_credential'],
    ['api-key', 'invalid_key'],
  ]);
});

test('a wrong credential learns nothing about the server: every endpoint refuses it with the same words', async (t) => {
  const server = await startServer(t);
  const refusals = [];
  for (const path of [PATHS.status, PATHS.discovery, PATHS.health, PATHS.audit, PATHS.session]) {
    const { status, body } = await server.request(path, { headers: { 'X-RDCP-API-Key': 'x'.repeat(40) } });
    assert.equal(status, 401, path);
    refusals.push(JSON.stringify(body.error));
  }
  assert.equal(new Set(refusals).size, 1, refusals.join('\n'));
});

test('a client id in a header grants and changes nothing', async (t) => {
  const server = await startServer(t);
  const headers = { 'X-RDCP-Client-ID': 'admin-client' };
  assert.equal((await server.request(PATHS.audit, { key: 'status', headers })).status, 403);
  await server.request(PATHS.control, {
    method: 'POST',
    key: 'control',
    headers,
    body: { action: 'enable', categories: 'HTTP' },
  });
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?action=enable`, { key: 'admin' });
  assert.equal(body.entries[0]?.identity.clientId, 'control-client');
});

test('every refusal of an identity is an entry of the trail', async (t) => {
  const server = await startServer(t);
  await server.request(PATHS.control, {
    method: 'POST',
    key: 'status',
    headers: { 'X-RDCP-Request-ID': 'refused-1', 'User-Agent': `test\x9b31m${'x'.repeat(300)}` },
    body: { action: 'enable', categories: 'HTTP' },
  });
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?outcome=denied`, { key: 'admin' });
  const [entry] = body.entries;
  assert.equal(entry?.action, 'authorize');
  assert.equal(entry?.error, 'RDCP_FORBIDDEN');
  assert.equal(entry?.requestId, 'refused-1');
  assert.equal(entry?.identity.clientId, 'status-client');
  assert.equal(entry?.source?.address, '127.0.0.1');
  assert.equal(entry?.source?.userAgent, `test\\u009b31m${'x'.repeat(248)}`);
});
