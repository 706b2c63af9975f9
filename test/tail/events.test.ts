import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRdcpClient } from '../../src/client/client.ts';
import { PATHS } from '../../src/protocol/constants.ts';
import type { StateEvent } from '../../src/protocol/streams.ts';
import { KEYS, type KeyName, startServer, type TestServer } from '../support/server.ts';

function clientOf(server: TestServer, key: KeyName = 'admin') {
  return createRdcpClient({ baseUrl: server.url, apiKey: KEYS[key] });
}

/** Reads events of some kinds until there are so many. */
async function read(
  events: AsyncIterable<StateEvent>,
  kinds: readonly StateEvent['event'][],
  most: number,
  seen: (event: StateEvent, count: number) => unknown = () => {},
) {
  const found: StateEvent[] = [];
  for await (const event of events) {
    if (!kinds.includes(event.event)) continue;
    found.push(event);
    await seen(event, found.length);
    if (found.length === most) break;
  }
  return found;
}

test('a watcher gets a snapshot as discovery answers, then each category that changes', async (t) => {
  const server = await startServer(t);
  const client = clientOf(server, 'operator');
  const discovered = await client.discovery();
  const [snapshot, first, second, added] = await read(
    client.events(),
    ['snapshot', 'category'],
    4,
    async (_event, count) => {
      if (count === 1) await client.enable(['DATABASE', 'HTTP'], { duration: '5m' });
      if (count === 3) server.gate.category('LATE', { description: 'registered later' });
    },
  );
  assert.ok(snapshot?.event === 'snapshot' && first?.event === 'category' && second?.event === 'category');
  assert.deepEqual(snapshot.data.categories, discovered.categories);
  assert.equal(snapshot.id, String(snapshot.data.revision));
  assert.deepEqual(
    [first.data, second.data].map(({ name, enabled, temporary }) => [name, enabled, temporary]),
    [
      ['DATABASE', true, true],
      ['HTTP', true, true],
    ],
  );
  assert.equal(Number(second.id), Number(snapshot.id) + 1);
  assert.equal(added?.event === 'category' && added.data.description, 'registered later');
});

test('a watcher that returns gets a snapshot only when it has missed something', async (t) => {
  const server = await startServer(t);
  const client = clientOf(server, 'operator');
  const both = ['snapshot', 'category', 'rates'] as const;
  const [snapshot] = await read(client.events(), both, 1);
  const lastEventId = snapshot?.id ?? '';
  const [again] = await read(client.events({ lastEventId }), both, 1);
  assert.equal(again?.event, 'rates');
  await client.enable('DATABASE');
  const [missed] = await read(client.events({ lastEventId }), both, 1);
  assert.equal(missed?.event, 'snapshot');
  assert.equal(missed.data.categories.find(({ name }) => name === 'DATABASE')?.enabled, true);
  const [unknown] = await read(client.events({ lastEventId: 'what?' }), both, 1);
  assert.equal(unknown?.event, 'snapshot');
});

test('rates come once a second, of the categories that have calls', async (t) => {
  const server = await startServer(t);
  const client = clientOf(server, 'operator');
  await client.enable('DATABASE');
  server.gate.category('DATABASE').debug('query');
  const began = performance.now();
  const [rates] = await read(client.events(), ['rates'], 1);
  assert.ok(performance.now() - began > 900);
  assert.ok(rates?.event === 'rates');
  assert.deepEqual(Object.keys(rates.data.categories), ['DATABASE']);
  assert.equal(rates.data.callsPerSecond, rates.data.categories.DATABASE);
});

test('audit entries come to admin alone, and not those from before', async (t) => {
  const server = await startServer(t);
  const operator = clientOf(server, 'operator');
  await operator.enable('HTTP');
  const seen = await read(clientOf(server).events(), ['snapshot', 'rates', 'audit'], 4, async (_event, count) => {
    if (count === 2) await operator.enable('DATABASE', { reason: 'slow' });
  });
  const [audit] = seen.filter(({ event }) => event === 'audit');
  assert.ok(audit?.event === 'audit');
  assert.deepEqual([audit.data.action, audit.data.categories, audit.data.reason], ['enable', ['DATABASE'], 'slow']);
  const none = await read(operator.events(), ['rates', 'audit'], 3, async (_event, count) => {
    if (count === 1) await operator.disable('DATABASE');
  });
  assert.deepEqual(
    none.map(({ event }) => event),
    ['rates', 'rates', 'rates'],
  );
});

test('audit entries of the first second are not lost, and a later reader gets none of theirs', async (t) => {
  const server = await startServer(t);
  const admin = clientOf(server);
  const others = new AbortController();
  const watching = read(clientOf(server, 'discovery').events({ signal: others.signal }), ['snapshot'], 2);
  watching.catch(() => undefined);
  const [, first] = await read(
    admin.events({ signal: AbortSignal.timeout(5000) }),
    ['snapshot', 'audit'],
    2,
    async (_event, count) => {
      if (count === 1) await admin.enable('DATABASE');
    },
  );
  assert.deepEqual(first?.event === 'audit' && first.data.categories, ['DATABASE']);
  await sleep(1100);
  await admin.enable('HTTP');
  const later = await read(admin.events(), ['rates', 'audit'], 2);
  assert.deepEqual(
    later.map(({ event }) => event),
    ['rates', 'rates'],
  );
  others.abort();
});

test('a stream of events needs the scope discovery, and is one of four of a client', async (t) => {
  const server = await startServer(t);
  await assert.rejects(read(clientOf(server, 'control').events(), ['snapshot'], 1), { code: 'RDCP_FORBIDDEN' });
  const controller = new AbortController();
  const options = { signal: controller.signal };
  const client = clientOf(server, 'discovery');
  const open = Array.from({ length: 4 }, () => client.events(options));
  for (const events of open) await events.next();
  await assert.rejects(client.events().next(), { code: 'RDCP_RATE_LIMITED' });
  controller.abort(new Error('enough'));
  for (const events of open) {
    await assert.rejects(async () => {
      for (;;) if ((await events.next()).done === true) throw new Error('ended');
    }, /enough/);
  }
  const head = await server.request(PATHS.events, { method: 'HEAD', key: 'discovery' });
  assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'text/event-stream; charset=utf-8']);
});
