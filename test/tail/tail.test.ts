import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import type { TailEvent, TailLine, TailOpen } from '../../src/wire/streams.ts';
import { KEYS, type KeyName, startServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { virtualTime } from '../support/virtual-time.ts';

function clientOf(server: TestServer, key: KeyName = 'admin') {
  return createRdcpClient({ baseUrl: server.url, apiKey: KEYS[key] });
}

/** Reads a tail until a number of events came, or it ended. */
async function read(tail: AsyncIterable<TailEvent>, most: number, seen?: (event: TailEvent) => void) {
  const events: TailEvent[] = [];
  for await (const event of tail) {
    events.push(event);
    seen?.(event);
    if (events.length === most) break;
  }
  return events;
}

test('a tail shows the lines of a category that is off, to its reader alone', async (t) => {
  const server = await startServer(t);
  const database = server.gate.category('DATABASE');
  const events = await read(clientOf(server).tail('DATABASE', { duration: '1m' }), 3, ({ event }) => {
    if (event !== 'instance') return;
    assert.equal(database.enabled, true);
    database.debug('query', { rows: 3, password: 'hunter2' });
  });
  assert.deepEqual(
    events.map(({ event }) => event),
    ['start', 'instance', 'line'],
  );
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
  await read(clientOf(server).tail('DATABASE'), 3, ({ event }) => event === 'instance' && database.debug('query'));
  await until('the tail has ended', () => !database.enabled);
  const { body } = await server.request<AuditResponse>('/rdcp/v1/audit?action=tail', { key: 'admin' });
  const [end, begin] = body.entries;
  assert.deepEqual([begin?.categories, begin?.identity.clientId], [['DATABASE'], 'admin-client']);
  const id = begin?.otelrdcp_tail?.id;
  assert.deepEqual(begin?.otelrdcp_tail, { id, state: 'begin', duration: '5m', rate: 100, log: false });
  assert.deepEqual(end?.otelrdcp_tail, { id, state: 'end', reason: 'closed', lines: 1, dropped: 0 });
  assert.equal(end?.reason, 'ended: the reader left; 1 lines, 0 dropped');
});

test('a tail ends when its time is over, and when its number of lines was reached', async (t) => {
  const server = await startServer(t);
  const database = server.gate.category('DATABASE');
  const client = clientOf(server);
  const over = await read(client.tail('DATABASE', { duration: 1 }), 10);
  assert.deepEqual(over.at(-1), { event: 'end', data: { reason: 'expired', lines: 0, dropped: 0 } });
  const enough = await read(client.tail('DATABASE', { lines: 2 }), 10, ({ event }) => {
    if (event === 'instance') for (let call = 0; call < 5; call++) database.debug('query');
  });
  assert.deepEqual(enough.at(-1)?.data, { reason: 'budget', lines: 2, dropped: 0 });
  assert.equal(database.enabled, false);
});

test('lines over the rate are dropped, and their number is reported', async (t) => {
  const server = await startServer(t);
  const database = server.gate.category('DATABASE');
  const events = await read(clientOf(server).tail('DATABASE', { rate: 3 }), 6, ({ event }) => {
    if (event === 'instance') for (let call = 0; call < 10; call++) database.debug('query', { call });
  });
  assert.deepEqual(
    events.map(({ event }) => event),
    ['start', 'instance', 'line', 'line', 'line', 'dropped'],
  );
  const dropped = events.at(-1)?.data as { count: number; since: string };
  assert.equal(dropped.count, 7);
});

test('a tail that the closing server ends at once leaves nothing behind', async (t) => {
  const time = virtualTime();
  const { schedule, delay } = time;
  const server = await startServer(t, { wrap: () => ({ schedule, delay }) });
  const before = time.pending;
  server.streams.close();
  const events = await read(clientOf(server).tail('DATABASE'), 10);
  assert.deepEqual(
    events.map(({ event }) => event),
    ['start', 'end'],
  );
  await until('no timer of the tail is left', () => time.pending <= before, 10_000);
  assert.equal(time.pending, before);
  assert.equal(server.gate.category('DATABASE').enabled, false);
});
