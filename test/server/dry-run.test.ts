import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { unwritten } from '../../src/wire/errors.ts';
import type { ControlResponse, DiscoveryResponse } from '../../src/wire/messages.ts';
import { startServer, type TestRequest, type TestServer } from '../support/server.ts';

const request = (options: object, more: Partial<TestRequest> = {}): TestRequest => ({
  method: 'POST',
  key: 'operator',
  body: { action: 'enable', categories: ['DATABASE', 'HTTP'], options: { otelrdcp_dryRun: true, ...options } },
  ...more,
});

async function traces(server: TestServer) {
  const { body } = await server.request<AuditResponse>(PATHS.audit, { key: 'admin' });
  const discovery = await server.request<DiscoveryResponse>(PATHS.discovery, { key: 'operator' });
  const found = discovery.body.categories.find(({ name }) => name === 'DATABASE');
  return {
    entries: body.entries.length,
    state: [found?.enabled, found?.temporary],
    temporary: server.plane.temporaryControls(),
    gate: server.gate.category('DATABASE').enabled,
    counted: server.controlRequests.length,
  };
}

test('a dry run answers what would change, and leaves no trace', async (t) => {
  const server = await startServer(t);
  const before = await traces(server);
  const { status, body } = await server.request<ControlResponse>(PATHS.control, request({ duration: '15m' }));
  assert.equal(status, 200);
  assert.equal(body.status, 'success');
  assert.equal(body.otelrdcp_dryRun, true);
  assert.match(body.message, /dry run: nothing was changed/);
  assert.deepEqual(
    body.changes.map(({ category, previousState, newState, temporary }) => [
      category,
      previousState,
      newState,
      temporary,
    ]),
    [
      ['DATABASE', false, true, true],
      ['HTTP', false, true, true],
    ],
  );
  const [change] = body.changes;
  assert.equal(Date.parse(change?.expiresAt ?? '') - Date.parse(change?.effectiveAt ?? ''), 15 * 60_000);
  assert.deepEqual(await traces(server), before);
});

test('a dry run is refused like the change itself, without an entry', async (t) => {
  const server = await startServer(t);
  const before = await traces(server);
  const unknown = request(
    {},
    { body: { action: 'enable', categories: ['NO_SUCH'], options: { otelrdcp_dryRun: true } } },
  );
  assert.equal((await server.request(PATHS.control, unknown)).body.error.code, 'RDCP_CATEGORY_NOT_FOUND');
  assert.equal((await server.request(PATHS.control, request({ duration: '99d' }))).status, 400);
  assert.equal((await server.request(PATHS.control, request({ otelrdcp_dryRun: 'yes' }))).status, 400);
  assert.equal((await traces(server)).entries, before.entries);
  assert.equal((await server.request(PATHS.control, request({}, { key: 'status' }))).status, 403);
});

test('the request id of a dry run is free for the change itself', async (t) => {
  const server = await startServer(t);
  const headers = { 'X-RDCP-Request-ID': 'rehearsed' };
  for (const dryRun of [true, true, false]) {
    const { status, headers: sent } = await server.request<ControlResponse>(
      PATHS.control,
      request({ otelrdcp_dryRun: dryRun }, { headers }),
    );
    assert.deepEqual([status, sent.get('x-rdcp-replayed')], [200, null]);
  }
  assert.equal(server.gate.category('DATABASE').enabled, true);
});

test('while the store cannot be reached a dry run changes nothing in this process either', async (t) => {
  const server = await startServer(t, {
    store: { ...createMemoryStore(), commit: () => Promise.reject(unwritten(new Error('gone'))) },
  });
  await server.request(PATHS.control, request({ otelrdcp_dryRun: false, duration: '1m' }));
  const gate = () => server.gate.category('X-CUSTOM').enabled;
  const body = { action: 'enable', categories: ['X-CUSTOM'], options: { duration: '1m', otelrdcp_dryRun: true } };
  assert.equal((await server.request(PATHS.control, request({}, { body }))).status, 503);
  assert.equal(gate(), false);
});
