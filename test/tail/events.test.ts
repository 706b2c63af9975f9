import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import type { StateEvent } from '../../src/wire/streams.ts';
import { newStore } from '../support/folder.ts';
import { clientOf, KEYS, startServer, type TestServer } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { virtualTime } from '../support/virtual-time.ts';

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

test('rates come once a second, of the categories that have calls in the last seconds', async (t) => {
  const server = await startServer(t);
  const client = clientOf(server, 'operator');
  await client.enable(['DATABASE', 'HTTP']);
  server.gate.category('HTTP').debug('before');
  const began = performance.now();
  const [, rates, next] = await read(client.events(), ['snapshot', 'rates'], 3, async (_event, count) => {
    if (count === 1) server.gate.category('DATABASE').debug('query');
  });
  assert.ok(performance.now() - began > 900);
  assert.ok(rates?.event === 'rates');
  assert.deepEqual(Object.keys(rates.data.categories), ['DATABASE']);
  assert.equal(rates.data.callsPerSecond, rates.data.categories.DATABASE);
  const { secondsAgo, categories } = rates.data.history ?? assert.fail('the first one has those of the last minutes');
  assert.deepEqual([secondsAgo.length, Object.keys(categories)], [1, ['DATABASE', 'HTTP']]);
  assert.equal(next?.event === 'rates' && next.data.history, undefined);
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
  const time = virtualTime();
  const { schedule, delay } = time;
  const server = await startServer(t, { wrap: () => ({ schedule, delay }) });
  const admin = clientOf(server);
  const other = clientOf(server, 'discovery').events();
  await other.next();
  const before = time.pending;
  const [, first] = await read(
    admin.events({ signal: AbortSignal.timeout(30_000) }),
    ['snapshot', 'audit'],
    2,
    async (_event, count) => {
      if (count > 1) return;
      await admin.enable('DATABASE');
      await time.pass(1000);
    },
  );
  assert.deepEqual(first?.event === 'audit' && first.data.categories, ['DATABASE']);
  await until('the server has noticed that the reader left', () => time.pending === before);
  await time.pass(1000);
  await admin.enable('HTTP');
  server.gate.category('DATABASE').debug('query');
  const [, ...later] = await read(
    admin.events({ signal: AbortSignal.timeout(30_000) }),
    ['snapshot', 'rates', 'audit'],
    3,
    () => time.pass(1000),
  );
  assert.deepEqual(
    later.map(({ event }) => event),
    ['rates', 'rates'],
  );
  const [soon] = later;
  const seen = soon?.event === 'rates' && Object.keys(soon.data.categories);
  assert.deepEqual(seen, ['DATABASE'], 'right after the beginning they are those of the last minute');
  await other.return();
});

test('a temporary control and its event have who made it, when and why, also the same one made again by another person', async (t) => {
  const server = await startServer(t);
  const client = clientOf(server, 'operator');
  const before = Date.now();
  const [, other, event] = await read(client.events(), ['snapshot', 'category'], 3, async (_event, count) => {
    if (count === 1) await clientOf(server).enable('DATABASE', { duration: '5m', reason: 'first' });
    if (count === 2) await client.enable('DATABASE', { duration: '5m', reason: 'slow checkout' });
  });
  assert.equal(other?.event === 'category' && other.data.otelrdcp_control?.reason, 'first');
  const { categories } = await clientOf(server, 'discovery').discovery();
  const control = categories.find(({ name }) => name === 'DATABASE')?.otelrdcp_control;
  assert.ok(control !== undefined && event?.event === 'category');
  assert.deepEqual(event.data.otelrdcp_control, control);
  const { since, ...who } = control;
  assert.deepEqual(who, { userId: 'operator-client', clientId: 'operator-client', reason: 'slow checkout' });
  assert.ok(Date.parse(since) >= before && Date.parse(since) <= Date.now());
  await client.reset('DATABASE');
  const after = await client.discovery();
  assert.deepEqual(
    after.categories.filter((category) => 'otelrdcp_control' in category),
    [],
  );
});

test('a permanent control has who made it and why, beneath a temporary one and after it', async (t) => {
  const store = newStore(t);
  const server = await startServer(t, { store: await openStore(store) });
  const [operator, admin] = [clientOf(server, 'operator'), clientOf(server)];
  const madeBy = async (client = operator) =>
    (await client.discovery()).categories.find(({ name }) => name === 'DATABASE')?.otelrdcp_control?.reason;
  const [, event] = await read(operator.events(), ['snapshot', 'category'], 2, async (_event, count) => {
    if (count === 1) await operator.enable('DATABASE', { temporary: false, reason: 'for the move' });
  });
  assert.equal(event?.event === 'category' && event.data.otelrdcp_control?.reason, 'for the move');
  await admin.disable('DATABASE', { duration: '5m', reason: 'a break' });
  assert.equal(await madeBy(), 'a break');
  const restarted = await startServer(t, { store: await openStore(store) });
  assert.equal(await madeBy(clientOf(restarted)), 'a break');
  await admin.enable('DATABASE', { reason: 'still needed' });
  assert.equal(await madeBy(), 'still needed', 'the same state, made by somebody else');
});

test('what a tenant sets is an event to who may list tenants alone', async (t) => {
  const server = await startServer(t, { config: { tenancy: { isolation: 'organization' } } });
  const acme = clientOf(server, 'admin', { tenantId: 'acme' });
  for (const [key, action, seen] of [
    ['admin', 'enable', ['snapshot', 'category', 'rates']],
    ['operator', 'disable', ['snapshot', 'rates', 'rates']],
  ] as const) {
    const kinds = ['snapshot', 'category', 'rates'] as const;
    const events = await read(clientOf(server, key).events(), kinds, 3, async (_event, count) => {
      if (count === 1) await acme[action]('HTTP');
    });
    assert.deepEqual(
      events.map(({ event }) => event),
      seen,
      key,
    );
  }
});

test('a tenant learns who made a control of its own, and not who made one for everybody', async (t) => {
  const server = await startServer(t, { config: { tenancy: { isolation: 'organization' } } });
  const admin = clientOf(server);
  const acme = clientOf(server, 'admin', { tenantId: 'acme' });
  await admin.enable(['DATABASE', 'HTTP'], { duration: '5m', reason: 'for everybody' });
  await acme.enable('HTTP', { duration: '5m', reason: 'for acme' });
  const { categories } = await acme.discovery();
  assert.deepEqual(
    categories.filter(({ enabled }) => enabled).map(({ name, otelrdcp_control }) => [name, otelrdcp_control?.reason]),
    [
      ['DATABASE', undefined],
      ['HTTP', 'for acme'],
    ],
  );
});

test('rates say what is left of budgets that are in use, and a category what its budget is', async (t) => {
  const { rdcp, clientOf: clientWith } = await startService(t);
  const client = clientWith(KEYS.admin);
  const spent = rdcp.category('SPENT');
  rdcp.category('UNUSED');
  const events = await read(client.events(), ['snapshot', 'category', 'rates'], 5, async (_event, count) => {
    if (count > 1) return;
    await client.enable(['SPENT', 'UNUSED'], {
      duration: '5m',
      otelrdcp_budget: { callsPerSecond: 10, calls: 100 },
    });
    for (let call = 0; call < 30; call += 1) spent.debug('one');
  });
  const category = events.find(({ event, data }) => event === 'category' && 'name' in data && data.name === 'SPENT');
  assert.equal(category?.event === 'category' && category.data.otelrdcp_budget !== undefined, true);
  const rates = events.findLast(({ event }) => event === 'rates');
  assert.ok(rates?.event === 'rates');
  const { SPENT, UNUSED } = rates.data.budgets ?? {};
  assert.equal(UNUSED?.callsLeft, 100);
  assert.ok(SPENT !== undefined && (SPENT.callsLeft ?? 100) < 100 && (SPENT.dropped ?? 0) > 0);
});

test('a stream that was left costs nothing: no timer, no place, no look at the state', async (t) => {
  const time = virtualTime();
  const { schedule, delay } = time;
  const server = await startServer(t, { wrap: () => ({ schedule, delay }) });
  const before = time.pending;
  const client = clientOf(server);
  for (let round = 0; round < 6; round += 1) {
    const open = [client.events(), client.events()];
    for (const events of open) assert.equal((await events.next()).done, false);
    assert.ok(time.pending > before);
    for (const events of open) await events.return();
    await until('no timer of the streams is left', () => time.pending <= before, 5000);
    assert.equal(time.pending, before);
  }
});

test('a watcher that returns and missed nothing hears of the processes at once', async (t) => {
  const store = newStore(t);
  const client = (await startService(t, { store })).clientOf(KEYS.admin);
  const all = ['snapshot', 'category', 'fleet', 'rates'] as const;
  const [snapshot] = await read(client.events(), ['snapshot'], 1);
  const [first] = await read(client.events({ lastEventId: snapshot?.id ?? '' }), all, 1);
  assert.equal(first?.event === 'fleet' && first.data.instances, 1);
});

test('a change made in one process is in the streams of the others, with who made it', async (t) => {
  const store = newStore(t);
  const open = async () => startServer(t, { store: await openStore(store) });
  const [first, ...others] = [await open(), await open(), await open()];
  const streams = others.map((server) => clientOf(server).events());
  for (const stream of streams) await stream.next();
  const seen = Promise.all(streams.map((stream) => read(stream, ['category'], 1)));
  await clientOf(first as TestServer).enable('DATABASE', { duration: '5m', reason: 'for all' });
  for (const [event] of await seen) {
    assert.ok(event?.event === 'category');
    const { name, enabled, otelrdcp_control: by } = event.data;
    assert.deepEqual([name, enabled, by?.reason], ['DATABASE', true, 'for all']);
  }
});
