import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { EndpointParts } from '../../src/endpoint/parts.ts';
import { Watchers } from '../../src/endpoint/streams/watchers.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { HEADERS, PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse } from '../../src/wire/messages.ts';
import type { StateEvent } from '../../src/wire/streams.ts';
import { clientOf, KEYS, startServer } from '../support/server.ts';
import { LEVELS, startTenantServer } from '../support/tenants.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { virtualTime } from '../support/virtual-time.ts';

/** The first event of a stream, whatever it is. */
async function first(events: AsyncIterable<StateEvent>): Promise<StateEvent> {
  for await (const event of events) return event;
  return assert.fail('the stream ended');
}

test('an id that this process never gave begins with a snapshot: of the past, of another process, beyond, or nonsense', async (t) => {
  const [server, other] = await Promise.all([startServer(t), startServer(t)]);
  const client = clientOf(server, 'operator');
  const elsewhere = await first(clientOf(other, 'operator').events());
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

test('a stream of events beyond the eighth of a credential is refused with the time to come back, and a place is free again', async (t) => {
  const server = await startServer(t);
  const client = clientOf(server, 'discovery');
  const open = Array.from({ length: 8 }, () => client.events());
  for (const events of open) await events.next();
  const refused = await server.request<ErrorResponse>(PATHS.events, { key: 'discovery' });
  const { code, message, details } = refused.body.error;
  assert.deepEqual([refused.status, code, details?.limit], [429, 'RDCP_RATE_LIMITED', 8]);
  assert.equal(message, '8 event streams of this credential are open already');
  assert.equal(refused.headers.get('retry-after'), '5');
  await first(clientOf(server, 'operator').events());
  await open[0]?.return();
  const hasPlace = async () => (await first(client.events()).catch(() => undefined))?.event === 'snapshot';
  await until('a place is free', hasPlace, 10_000);
  for (const events of open) await events.return();
});

test('events ignore a query, and answer 503 while the server closes', async (t) => {
  const server = await startServer(t);
  const head = await server.request(`${PATHS.events}?categories=NOWHERE&limit=x`, { key: 'discovery', method: 'HEAD' });
  assert.deepEqual([head.status, head.text], [200, '']);
  const client = clientOf(server, 'discovery');
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

test('an audit entry from before a watcher came is not new to it, although the trail was being read when the last one left', async () => {
  const time = virtualTime();
  const entry = { id: 'late', timestamp: new Date(time.clock.now()).toISOString() } as AuditEntry;
  const reads: ((entries: readonly AuditEntry[]) => void)[] = [];
  const query = () =>
    new Promise((resolve) => {
      reads.push((entries) => resolve({ entries }));
    });
  const state = { plane: { view: () => [] }, trail: { query }, fleet: undefined } as unknown as EndpointParts;
  const watchers = new Watchers({ ...state, ...time });
  const seen: string[] = [];
  const watcher = { scope: { key: '*' }, tenantId: undefined, audits: true } as const;
  const ignore = { seesTenants: true, categories: () => {}, replaced: () => {}, fleet: () => {}, rates: () => {} };
  const join = async (readNow: readonly AuditEntry[]) => {
    const prepared = watchers.prepare(true);
    await setImmediate();
    reads.pop()?.(readNow);
    await prepared;
    return watchers.add({ ...watcher, ...ignore, audit: ({ id }) => void seen.push(id) });
  };
  const leave = await join([]);
  await time.pass(1000);
  const interrupted = reads.pop();
  leave();
  interrupted?.([]);
  await setImmediate();
  await join([entry]);
  await time.pass(1000);
  reads.pop()?.([entry]);
  await setImmediate();
  assert.deepEqual(seen, []);
});

inFull('a watcher that reads nothing gets a snapshot of what it missed, and holds up no other', async (t) => {
  const server = await startServer(t, {
    config: {
      categories: Object.fromEntries(
        Array.from({ length: 2000 }, (_, index) => [`C${index}`, { description: 'd'.repeat(900) }]),
      ),
    },
  });
  const response = await fetch(`${server.url}${PATHS.events}`, { headers: { [HEADERS.apiKey]: KEYS.operator } });
  const client = clientOf(server, 'operator');
  const reading = client.events();
  for (const action of ['enable', 'disable', 'enable'] as const) {
    await client[action](Array.from({ length: 400 }, (_, index) => `C${index}`));
    // Another reader has heard of it, so it was noticed.
    for (let heard = false; !heard; ) {
      const { value } = await reading.next();
      const categories =
        value?.event === 'category' ? [value.data] : value?.event === 'snapshot' ? value.data.categories : [];
      heard = categories.some(({ name, enabled }) => name === 'C399' && enabled === (action === 'enable'));
    }
  }
  await reading.return(undefined);
  assert.equal((await first(client.events())).event, 'snapshot');
  // What the reader finds at last is the state of the end, however much was left out.
  let text = '';
  const decoder = new TextDecoder();
  const deadline = performance.now() + 60_000;
  for await (const chunk of response.body ?? assert.fail()) {
    text += decoder.decode(chunk, { stream: true });
    if (
      text.split('event: snapshot').length > 2 &&
      /event: rates/.test(text.slice(text.lastIndexOf('event: snapshot')))
    )
      break;
    assert.ok(performance.now() < deadline, 'a second snapshot comes');
  }
  const last =
    /event: snapshot\nid: \d+\ndata: (.*)\n\n/.exec(text.slice(text.lastIndexOf('event: snapshot')))?.[1] ?? '';
  const { categories } = JSON.parse(last) as { categories: { name: string; enabled: boolean }[] };
  assert.equal(categories.filter(({ enabled }) => enabled).length, 400);
});
