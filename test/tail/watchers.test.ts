import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRdcpClient } from '../../src/client/client.ts';
import { PATHS } from '../../src/protocol/constants.ts';
import type { ErrorResponse } from '../../src/protocol/messages.ts';
import type { StateEvent } from '../../src/protocol/streams.ts';
import { KEYS, startServer } from '../support/server.ts';
import { LEVELS, startTenantServer } from '../support/tenants.ts';

/** The first event of a stream, whatever it is. */
async function first(events: AsyncIterable<StateEvent>): Promise<StateEvent> {
  for await (const event of events) return event;
  return assert.fail('the stream ended');
}

test('an id that this process never gave begins with a snapshot: of the past, of another process, beyond, or nonsense', async (t) => {
  const [server, other] = await Promise.all([startServer(t), startServer(t)]);
  const client = createRdcpClient({ baseUrl: server.url, apiKey: KEYS.operator });
  const elsewhere = await first(createRdcpClient({ baseUrl: other.url, apiKey: KEYS.operator }).events());
  const own = await first(client.events());
  const ids = [
    '0',
    '-1',
    '1.5',
    'NaN',
    '9'.repeat(400),
    String(Number(own.id) + 1),
    'global',
    '__proto__',
    `${own.id} `.repeat(2),
    'x'.repeat(4000),
  ];
  if (elsewhere.id !== own.id) ids.push(elsewhere.id ?? '');
  for (const lastEventId of ids) {
    const { event, id } = await first(client.events({ lastEventId }));
    assert.deepEqual([event, id], ['snapshot', own.id], lastEventId);
  }
  const { status, body } = await server.request<ErrorResponse>(PATHS.events, {
    key: 'operator',
    headers: { 'Last-Event-ID': '1', Accept: 'application/json' },
  });
  assert.deepEqual([status, body.error.code], [406, 'RDCP_MEDIA_NOT_ACCEPTABLE']);
});

test('a stream of events beyond the fourth of a client is refused with the time to come back, and a place is free again', async (t) => {
  const server = await startServer(t);
  const client = createRdcpClient({ baseUrl: server.url, apiKey: KEYS.discovery });
  const open = Array.from({ length: 4 }, () => client.events());
  for (const events of open) await events.next();
  const refused = await server.request<ErrorResponse>(PATHS.events, { key: 'discovery' });
  const { code, message, details } = refused.body.error;
  assert.deepEqual([refused.status, code, details?.limit], [429, 'RDCP_RATE_LIMITED', 4]);
  assert.equal(message, '4 event streams of this client are open already');
  assert.equal(refused.headers.get('retry-after'), '5');
  await first(createRdcpClient({ baseUrl: server.url, apiKey: KEYS.operator }).events());
  await open[0]?.return();
  const deadline = performance.now() + 10_000;
  for (;;) {
    const again = await first(client.events()).catch(() => undefined);
    if (again?.event === 'snapshot') break;
    assert.ok(performance.now() < deadline, 'a place becomes free');
    await sleep(10);
  }
  for (const events of open) await events.return();
});

test('events ignore a query, refuse other methods, and answer 503 while the server closes', async (t) => {
  const server = await startServer(t);
  const head = await server.request(`${PATHS.events}?categories=NOWHERE&limit=x`, { key: 'discovery', method: 'HEAD' });
  assert.deepEqual([head.status, head.text], [200, '']);
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const { status, headers } = await server.request(PATHS.events, { key: 'discovery', method });
    assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD'], method);
  }
  const client = createRdcpClient({ baseUrl: server.url, apiKey: KEYS.discovery });
  const open = client.events();
  await open.next();
  server.startClosing();
  const { status, headers, body } = await server.request<ErrorResponse>(PATHS.events, { key: 'discovery' });
  assert.deepEqual([status, body.error.code, headers.get('retry-after')], [503, 'RDCP_UNAVAILABLE', '1']);
  server.streams.close();
  await assert.rejects(
    async () => {
      for await (const _ of open);
    },
    { code: 'RDCP_UNAVAILABLE' },
  );
});

test('a tenant’s administrator watches that tenant’s state and trail alone', async (t) => {
  const server = await startTenantServer(t, { ...LEVELS.organization });
  const clientOf = (who: 'acme' | 'beta' | 'admin', tenantId?: string) =>
    createRdcpClient({ baseUrl: server.url, ...server.as(who), ...(tenantId !== undefined && { tenantId }) });
  await assert.rejects(first(clientOf('acme', 'beta').events()), { code: 'RDCP_FORBIDDEN' });
  const seen: StateEvent[] = [];
  for await (const event of clientOf('acme').events()) {
    seen.push(event);
    if (event.event === 'snapshot') {
      await clientOf('beta').enable('DATABASE', { duration: '5m', reason: 'beta is slow' });
      await clientOf('acme').enable('HTTP', { duration: '5m', reason: 'acme is slow' });
    }
    if (event.event === 'audit') break;
  }
  assert.doesNotMatch(JSON.stringify(seen), /beta/);
  const changed = seen.flatMap((event) => (event.event === 'category' ? [event.data.name] : []));
  assert.deepEqual(changed, ['HTTP']);
  const audit = seen.at(-1);
  assert.equal(audit?.event === 'audit' && audit.data.reason, 'acme is slow');
});
