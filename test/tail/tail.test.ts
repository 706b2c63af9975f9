import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { HEADERS, PATHS } from '../../src/wire/constants.ts';
import type { WellKnownDocument } from '../../src/wire/messages.ts';
import type { TailEvent, TailLine, TailOpen } from '../../src/wire/streams.ts';
import { atMost } from '../support/at-most.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { newFolder } from '../support/folder.ts';
import { clientOf, KEYS, startServer } from '../support/server.ts';
import { LEVELS, startTenantServer } from '../support/tenants.ts';
import { http2Session } from '../support/tls-client.ts';
import { until } from '../support/until.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { principal, serverOf } from './people.ts';

/** Reads a tail until a number of events came, or to its end. */
async function read(
  tail: AsyncIterable<TailEvent>,
  { most = Infinity, seen }: { readonly most?: number; readonly seen?: (event: TailEvent) => unknown } = {},
) {
  const events: TailEvent[] = [];
  for await (const event of tail) {
    events.push(event);
    await seen?.(event);
    if (events.length === most) break;
  }
  return events;
}

const lastOf = (events: readonly TailEvent[]) => events.at(-1)?.data as unknown;
const kindsOf = (events: readonly TailEvent[]) => events.map(({ event }) => event);

test('a tail shows the lines of a category that is off, to its reader alone', async (t) => {
  const server = await startServer(t);
  const database = server.gate.category('DATABASE');
  const events = await read(clientOf(server).tail('DATABASE', { duration: '1m' }), {
    most: 3,
    seen: ({ event }) => {
      if (event !== 'instance') return;
      assert.equal(database.enabled, true);
      database.debug('query', { rows: 3, password: 'hunter2' });
    },
  });
  assert.deepEqual(kindsOf(events), ['start', 'instance', 'line']);
  const [open, instance, line] = events.map(({ data }) => data);
  const { revision, expiresAt, ...opened } = open as TailOpen;
  assert.deepEqual(opened, { instances: 1, categories: ['DATABASE'] });
  assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 60_000) < 10_000);
  for await (const { event, data } of clientOf(server).events()) {
    assert.equal(event === 'snapshot' && data.revision, revision, 'the revision of the state, as events have it');
    break;
  }
  assert.deepEqual(instance, { id: 'test', state: 'joined' });
  const { timestamp, ...rest } = line as TailLine;
  assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 10_000);
  assert.deepEqual(rest, {
    category: 'DATABASE',
    message: 'query',
    attributes: { rows: 3, password: '[redacted]' },
    instance: 'test',
  });
  assert.equal(server.gate.callsTotal(server.gate.categories().findIndex(({ name }) => name === 'DATABASE')), 0);
});

test('a reader that leaves ends its tail, and the trail has its beginning and its end', async (t) => {
  const server = await startServer(t);
  const database = server.gate.category('DATABASE');
  await read(clientOf(server).tail('DATABASE'), {
    most: 3,
    seen: ({ event }) => event === 'instance' && database.debug('query'),
  });
  await until('the tail has ended', () => !database.enabled);
  const { body } = await server.request<AuditResponse>('/rdcp/v1/audit?action=tail', { key: 'admin' });
  const [end, begin] = body.entries;
  assert.deepEqual([begin?.categories, begin?.identity.clientId], [['DATABASE'], 'admin-client']);
  const id = begin?.otelrdcp_tail?.id;
  assert.deepEqual(begin?.otelrdcp_tail, { id, state: 'begin', duration: '5m', rate: 100, log: false });
  assert.deepEqual(end?.otelrdcp_tail, { id, state: 'end', reason: 'closed', lines: 1, dropped: 0 });
  assert.equal(end?.reason, 'ended: the reader left; 1 line, 0 dropped');
});

test('a tail ends when its time is over, and when its number of lines was reached', async (t) => {
  const server = await startServer(t);
  const database = server.gate.category('DATABASE');
  const client = clientOf(server);
  const over = await read(client.tail('DATABASE', { duration: 1 }));
  assert.deepEqual(over.at(-1), { event: 'end', data: { reason: 'expired', lines: 0, dropped: 0 } });
  const enough = await read(client.tail('DATABASE', { lines: 2 }), {
    seen: ({ event }) => {
      if (event === 'instance') for (let call = 0; call < 5; call++) database.debug('query');
    },
  });
  assert.deepEqual(enough.at(-1)?.data, { reason: 'budget', lines: 2, dropped: 0 });
  assert.equal(database.enabled, false);
});

test('a tail that the closing server ends at once leaves nothing behind', async (t) => {
  const time = virtualTime();
  const { schedule, delay } = time;
  const server = await startServer(t, { wrap: () => ({ schedule, delay }) });
  const before = time.pending;
  server.streams.close();
  const events = await read(clientOf(server).tail('DATABASE'));
  assert.deepEqual(kindsOf(events), ['start', 'end']);
  await until('no timer of the tail is left', () => time.pending <= before, 10_000);
  assert.equal(time.pending, before);
  assert.equal(server.gate.category('DATABASE').enabled, false);
});

test('a request that is not as it should be is refused before anything is tapped', async (t) => {
  const server = await startServer(t);
  const unknown = await server.request(`${PATHS.tail}?categories=HTTP,NOWHERE`, { key: 'admin' });
  assert.deepEqual(
    [unknown.status, unknown.body.error.message],
    [404, 'Unknown category in this process (its store does not show those of others): NOWHERE'],
  );
  const json = await server.request(`${PATHS.tail}?categories=HTTP`, {
    key: 'admin',
    headers: { Accept: 'application/json' },
  });
  assert.deepEqual([json.status, json.body.error.details?.available], [406, ['text/event-stream']]);
  const posted = await server.request(PATHS.tail, { key: 'admin', method: 'POST', body: {} });
  assert.deepEqual([posted.status, posted.body.error.details?.field], [400, 'categories']);
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?action=tail`, { key: 'admin' });
  assert.deepEqual(body.entries, []);
});

test('HEAD answers as GET would, with what makes proxies pass a stream on, and taps nothing', async (t) => {
  const server = await startServer(t);
  for (const path of [`${PATHS.tail}?categories=HTTP`, PATHS.events]) {
    const { status, headers, text } = await server.request(path, { key: 'admin', method: 'HEAD' });
    assert.deepEqual([status, text], [200, '']);
    assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.deepEqual(
      [headers.get('cache-control'), headers.get('x-accel-buffering')],
      ['no-store, no-transform', 'no'],
    );
    assert.ok(headers.has(HEADERS.requestId));
  }
  assert.equal(server.gate.category('HTTP').enabled, false);
});

test('the configuration may let control tail, but not faster than configured, or take tails away', async (t) => {
  const server = await startServer(t, { config: { tail: { scope: 'control', rate: 50 } } });
  assert.deepEqual(lastOf(await read(clientOf(server, 'control').tail('HTTP', { duration: 1 }))), {
    reason: 'expired',
    lines: 0,
    dropped: 0,
  });
  await assert.rejects(read(clientOf(server, 'control').tail('HTTP', { rate: 51 })), { code: 'RDCP_FORBIDDEN' });
  const events = await read(clientOf(server).tail('HTTP', { rate: 51, duration: 1 }));
  assert.deepEqual(kindsOf(events), ['start', 'instance', 'counts', 'end']);
  const without = await startServer(t, { config: { tail: false } });
  await assert.rejects(read(clientOf(without).tail('HTTP')), { code: 'RDCP_NOT_FOUND' });
  const { body } = await without.request<WellKnownDocument>(PATHS.wellKnown);
  assert.deepEqual(
    [body.otelrdcp_endpoints.tail, body.otelrdcp_endpoints.forecast, body.otelrdcp_endpoints.events],
    [undefined, PATHS.forecast, PATHS.events],
  );
});

test('an identity has eight tails and a process so many, and a place is free again when one ends', async (t) => {
  const people = new Map(['a', 'b', 'c', 'd', 'e'].map((name) => [name, principal(name)]));
  const server = await serverOf(t, people, { config: { limits: { maxConnectionsPerAddress: 100 } } });
  const open = async (apiKey: string, clientId?: string) => {
    const tail = createRdcpClient({ baseUrl: server.url, apiKey, ...(clientId && { clientId }) }).tail('HTTP');
    await tail.next();
    return tail;
  };
  const eight = (name: string) => Promise.all(Array.from({ length: 8 }, () => open(name)));
  const tails = await eight('a');
  await assert.rejects(open('a', 'colleague'), {
    code: 'RDCP_RATE_LIMITED',
    message: '8 tails of this credential are open already',
  });
  for (const name of ['b', 'c', 'd']) tails.push(...(await eight(name)));
  await assert.rejects(open('e'), { code: 'RDCP_RATE_LIMITED', message: '32 tails of this process are open already' });
  await tails[0]?.return(undefined);
  const again = await until('a place is free', () => open('e').catch(() => undefined));
  for (const tail of [...tails, again]) await tail.return(undefined);
});

test('where an identity has no place left, a newer tail of the same client ends its oldest, and no other client loses one', async (t) => {
  const server = await startServer(t);
  const clientNamed = (clientId: string) => clientOf(server, 'admin', { clientId });
  const open = async (clientId: string) => {
    const tail = clientNamed(clientId).tail('HTTP');
    await tail.next();
    return tail;
  };
  const colleague = await open('colleague');
  const mine: Awaited<ReturnType<typeof open>>[] = [];
  for (let count = 0; count < 7; count += 1) mine.push(await open('laptop'));
  const [oldest, next] = mine as [(typeof mine)[0], (typeof mine)[0]];
  const newest = [await open('laptop'), await open('laptop')];
  for (const tail of [oldest, next]) {
    const end = lastOf(await read(tail)) as { reason: string };
    assert.equal(end.reason, 'replaced');
  }
  server.gate.category('HTTP').debug('to all that are left');
  for (const tail of [colleague, ...mine.slice(2), ...newest]) {
    for await (const { event } of tail) {
      assert.notEqual(event, 'end');
      if (event === 'line') break;
    }
  }
});

test('a credential that is revoked, expires or loses the scope ends its tail within a second', async (t) => {
  const people = new Map([
    ['revoked', principal('revoked')],
    ['narrowed', principal('narrowed')],
    ['expiring', principal('expiring', { expiresAt: Date.now() + 1500 })],
  ]);
  const server = await serverOf(t, people);
  const open = new Set<string>();
  const tails = [...people.keys()].map(async (apiKey) => {
    const tail = createRdcpClient({ baseUrl: server.url, apiKey }).tail('HTTP');
    const events = await read(tail, { seen: ({ event }) => event === 'start' && open.add(apiKey) });
    return [apiKey, (lastOf(events) as { reason: string }).reason, performance.now()] as const;
  });
  await until('each tail is open', () => open.size === people.size);
  const at = performance.now();
  people.delete('revoked');
  people.set('narrowed', principal('narrowed', { scopes: ['control'] }));
  for (const [name, reason, ended] of await Promise.all(tails)) {
    assert.equal(reason, 'revoked', name);
    assert.ok(ended - at < 30_000, `${name}: ${ended - at} ms`);
  }
});

test('a key that is taken out of its file ends the tails of it', async (t) => {
  const key = generateApiKey({ env: 'test', randomBytes });
  const file = `${newFolder(t)}/keys.json`;
  const record = { id: 'one', hash: hashApiKey(key), clientId: 'one', scopes: ['admin'] };
  writeFileSync(file, JSON.stringify({ keys: [record] }));
  const server = await startServer(t, { config: { security: { apiKeys: { file } } } });
  const events = await read(createRdcpClient({ baseUrl: server.url, apiKey: key }).tail('HTTP'), {
    seen: ({ event }) => event === 'start' && writeFileSync(file, JSON.stringify({ keys: [] })),
  });
  assert.equal((lastOf(events) as { reason: string }).reason, 'revoked');
});

test('an EventSource does not connect again after a tail that is over', async (t) => {
  const server = await startServer(t);
  const response = await fetch(`${server.url}${PATHS.tail}?categories=HTTP&duration=1`, {
    headers: { [HEADERS.apiKey]: KEYS.admin },
  });
  assert.match(await response.text(), /\n\nretry: 86400000\n\nevent: end\ndata: \{"reason":"expired",.*\}\n\n$/);
});

test('a server that closes ends its tails and forecasts first, and waits for none', async (t) => {
  const server = await startServer(t);
  const forecast = clientOf(server).forecast('HTTP', { duration: 60 });
  const events = await read(clientOf(server).tail('HTTP'), {
    seen: ({ event }) => {
      if (event !== 'instance') return;
      server.startClosing();
      server.streams.close();
    },
  });
  assert.deepEqual(lastOf(events), { reason: 'shutdown', lines: 0, dropped: 0 });
  await assert.rejects(forecast, { code: 'RDCP_UNAVAILABLE' });
  const began = performance.now();
  await server.close();
  assert.ok(performance.now() - began < atMost(10_000));
});

test('a tenant tails and forecasts its own calls alone, whatever it says', async (t) => {
  const server = await startTenantServer(t, { ...LEVELS.namespace }, {});
  const http = server.gate.category('HTTP');
  const debug = () => {
    for (const tenant of ['acme', 'beta']) server.gate.runWithTenant(tenant, () => http.debug(`of ${tenant}`));
    http.debug('of nobody');
  };
  const timer = setInterval(debug, 10);
  t.after(() => clearInterval(timer));
  const headers = { ...server.as('acme').headers };
  const client = createRdcpClient({ baseUrl: server.url, headers });
  const events = await read(client.tail('HTTP', { lines: 5 }));
  const lines = events.filter(({ event }) => event === 'line').map(({ data }) => data as TailLine);
  assert.deepEqual(new Set(lines.map(({ tenant, message }) => `${tenant} ${message}`)), new Set(['acme of acme']));
  const other = createRdcpClient({ baseUrl: server.url, headers, tenantId: 'beta' });
  await assert.rejects(read(other.tail('HTTP')), { code: 'RDCP_FORBIDDEN' });
  await assert.rejects(other.forecast('HTTP'), { code: 'RDCP_FORBIDDEN' });
  const of = createRdcpClient({ baseUrl: server.url, headers: { ...server.as('admin').headers }, tenantId: 'beta' });
  const named = await read(of.tail('HTTP', { lines: 3 }));
  assert.ok(named.every(({ event, data }) => event !== 'line' || data.tenant === 'beta'));
  const everybody = createRdcpClient({ baseUrl: server.url, headers: { ...server.as('admin').headers } });
  // In the same seconds: in others, a busy machine makes more calls, or fewer.
  const [own = 0, total = 0] = await Promise.all(
    [client, everybody].map(
      async (asked) => (await asked.forecast('HTTP', { duration: 2 })).categories.HTTP?.callsPerSecond.value,
    ),
  );
  assert.ok(total / own > 2 && total / own < 4, `${own} of ${total}`);
});

test('over HTTP/2 a tail outlasts the time in which a request must arrive', async (t) => {
  const authority = createAuthority();
  const { cert, key } = authority.issue('localhost', { usage: 'server' });
  const tls = writePems({ certFile: cert, keyFile: key });
  const server = await startServer(t, {
    config: { server: { tls }, limits: { requestTimeoutSeconds: 1 } },
    listener: { timeouts: { headersMs: 1500, requestMs: 1500, keepAliveMs: 300, checkMs: 50 } },
  });
  const session = await http2Session(t, server.url, { ca: authority.cert });
  const stream = session.request({ ':path': `${PATHS.tail}?categories=HTTP&duration=2`, 'x-rdcp-api-key': KEYS.admin });
  stream.setEncoding('utf8');
  let text = '';
  for await (const chunk of stream) text += chunk;
  assert.match(text, /event: end\ndata: \{"reason":"expired","lines":0,"dropped":0\}\n\n$/);
});

test('a forecast may last longer than a request may take, and ends with the client', async (t) => {
  const server = await startServer(t, { config: { limits: { requestTimeoutSeconds: 1 } } });
  const client = clientOf(server, 'control');
  assert.equal((await client.forecast('HTTP', { duration: 2 })).duration, '2s');
  const controller = new AbortController();
  const forecast = client.forecast('HTTP', { duration: 60, signal: controller.signal });
  await until('the forecast has begun', () => server.gate.category('HTTP').enabled);
  controller.abort(new Error('left'));
  await assert.rejects(forecast, /left/);
  await until('the forecast has ended', () => !server.gate.category('HTTP').enabled);
  assert.deepEqual(server.reports, []);
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?action=forecast`, { key: 'admin' });
  assert.deepEqual(
    body.entries.map(({ categories, reason }) => [categories, reason]),
    [
      [['HTTP'], 'for 1m'],
      [['HTTP'], 'for 2s'],
    ],
  );
});
