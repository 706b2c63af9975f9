import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tail } from '../../src/calls/tail/tail.ts';
import type { TailLine } from '../../src/wire/streams.ts';
import fc from '../support/fast-check.ts';
import { type Network, network, receiver } from './network.ts';

const SPEC = { categories: ['DATABASE'], rate: 100, log: false };

/** Two processes, of which `a` tails both. @param of the other process */
async function tailing(
  spec: Partial<typeof SPEC> & { tenantId?: string } = {},
  of: Parameters<Network['process']>[1] = {},
) {
  const net = network();
  const [a, b] = [net.process('a'), net.process('b', of)];
  const got = receiver();
  const running = a.relay.tail({ ...SPEC, ...spec }, got);
  await net.time.pass(50);
  return { ...net, a, b, got, running };
}

test('a tail gets the lines of every process, each with its instance, until it is ended', async () => {
  const { time, a, b, got, running } = await tailing();
  for (const { database } of [a, b]) database.debug('query');
  await time.pass(50);
  assert.deepEqual(got.instances, ['a joined', 'b joined']);
  assert.deepEqual(got.received.map(({ instance }) => instance).sort(), ['a', 'b']);
  running.end();
  await time.pass(0);
  assert.deepEqual([a.database.enabled, b.database.enabled], [false, false]);
  assert.equal(time.pending, 0, 'no timer is left');
});

test('a line is with the reader within a twentieth of a second, and a process sends nothing when it has nothing', async () => {
  const { time, sent, b, got } = await tailing();
  await time.pass(9950);
  const idle = sent.filter(({ from }) => from === b.address).length;
  assert.ok(idle <= 11, `${idle} messages in ten seconds`);
  b.database.debug('query');
  await time.pass(50);
  assert.equal(got.received.length, 1);
});

test('when the process that serves a tail is gone, no other is tapped after three missed renewals', async () => {
  const { time, cut, a, b } = await tailing();
  await time.pass(4950);
  assert.equal(b.database.enabled, true);
  cut.add(a.address);
  await time.pass(2500);
  assert.equal(b.database.enabled, true, 'two missed');
  await time.pass(1500);
  assert.equal(b.database.enabled, false);
});

test('a process that was stopped for a while ends what is over as soon as it runs again', async () => {
  const { time, cut, a, b } = await tailing();
  await time.pass(950);
  cut.add(a.address);
  time.suspend(60_000);
  await time.pass(50);
  assert.equal(b.database.enabled, false);
});

test('a process that is cut off is reported as left, its own lines go on, and it joins again by itself', async () => {
  const { time, cut, a, b, got } = await tailing();
  cut.add(b.address);
  await time.pass(4000);
  assert.deepEqual(got.instances, ['a joined', 'b joined', 'b left']);
  a.database.debug('here');
  await time.pass(50);
  assert.equal(got.received.length, 1);
  cut.delete(b.address);
  await time.pass(1100);
  assert.equal(got.instances.at(-1), 'b joined');
  b.database.debug('last');
  b.relay.close();
  await time.pass(0);
  assert.equal(got.received.at(-1)?.message, 'last', 'one that closes sends what waits');
  assert.equal(got.instances.at(-1), 'b left', 'and says so');
});

test('processes and categories that come later are tapped within a second', async () => {
  const { time, process } = network();
  const a = process('a', { categories: ['DATABASE', 'CACHE'] });
  const b = process('b');
  const got = receiver();
  a.relay.tail({ ...SPEC, categories: ['CACHE'] }, got);
  await time.pass(100);
  const c = process('c', { categories: ['CACHE'] });
  const late = b.gate.category('CACHE');
  await time.pass(1100);
  late.debug('b');
  c.gate.category('CACHE').debug('c');
  await time.pass(50);
  assert.deepEqual(got.received.map(({ message }) => message).sort(), ['b', 'c']);
});

test('a tail of one tenant gets no other call, in any process', async () => {
  const { time, a, b, got } = await tailing({ tenantId: 'acme' });
  for (const { gate, database } of [a, b]) {
    for (const tenant of ['acme', 'beta']) {
      gate.runWithTenant(tenant, () => {
        assert.equal(database.enabled, tenant === 'acme');
        database.debug('query');
      });
    }
    database.debug('of nobody');
  }
  await time.pass(50);
  assert.deepEqual(
    got.received.map(({ tenant }) => tenant),
    ['acme', 'acme'],
  );
});

test('a tail passes on only what it asked for, also of a process that sends more', () => {
  const taken = () => true;
  for (const [of, expected] of [
    [{ tenantId: 'acme' }, ['acme']],
    [{ tenants: ['ac*', 'b*'] }, ['acme', 'beta']],
    [{ tenants: ['*'] }, ['acme', 'beta', 'globex']],
    [{}, ['acme', 'beta', 'globex', undefined]],
  ] as const) {
    const { time, process, sent } = network();
    const { relay } = process('a');
    const passed: TailLine[] = [];
    const line = (text: string) => passed.push(JSON.parse(text)) > 0;
    const reader = { line, dropped: taken, instance: taken, counts: taken, now: taken, end: taken };
    const tail = new Tail({ ...SPEC, ...of, milliseconds: 60_000 }, reader, time, taken);
    tail.begin(relay);
    const { id } = JSON.parse(sent[0]?.message ?? '');
    const common = { timestamp: '2026-01-01T00:00:00.000Z', message: 'm', attributes: {}, instance: 'b' };
    const lines = ['DATABASE', 'CACHE'].flatMap((category) =>
      ['acme', 'beta', 'globex', undefined].map((tenant) => JSON.stringify({ ...common, category, tenant })),
    );
    relay.hear(JSON.stringify({ type: 'lines', id, instance: 'b', lines, dropped: 0, before: 0 }), 'at-b');
    assert.deepEqual(
      passed.map(({ category, tenant }) => [category, tenant]),
      expected.map((tenant) => ['DATABASE', tenant]),
    );
    tail.end('closed');
  }
});

test('with log, lines of a category that is off go to the outputs of every process too', async () => {
  const { a, b, running } = await tailing({ log: true });
  for (const { database, lines } of [a, b]) {
    database.debug('query', { rows: 1 });
    assert.deepEqual(
      lines.map((line) => line.slice(25)),
      ['DEBUG DATABASE query {"rows":1}'],
    );
  }
  a.attachment.setBase(0, true);
  a.database.debug('on');
  assert.equal(a.lines.length, 2, 'once');
  assert.equal(b.gate.callsTotal(0), 0);
  running.end();
});

test('a process drops lines over the rate, and those that the store does not take, and says how many', async () => {
  const { time, cut, b, got } = await tailing({ rate: 10 });
  for (let call = 0; call < 25; call++) b.database.debug('query');
  await time.pass(50);
  assert.deepEqual([got.received.length, got.counts.dropped], [10, 15]);
  await time.pass(1000);
  cut.add(b.address);
  for (let call = 0; call < 5; call++) b.database.debug('lost');
  await time.pass(50);
  cut.delete(b.address);
  b.database.debug('next');
  await time.pass(50);
  assert.deepEqual([got.received.length, got.counts.dropped], [11, 20]);
});

test('lines that were lost on the way are counted, and those of a minute in which the lease was not renewed', async () => {
  const { time, cut, a, b, got } = await tailing();
  b.database.debug('first');
  await time.pass(50);
  // What serves the tail hears nothing for a while, as when it is stopped or its subscription broke.
  cut.add(a.address);
  for (let call = 0; call < 7; call++) b.database.debug('lost');
  await time.pass(50);
  cut.delete(a.address);
  b.database.debug('next');
  await time.pass(50);
  assert.deepEqual([got.received.length, got.counts.dropped], [2, 7]);
  cut.add(a.address);
  b.database.debug('lost too');
  await time.pass(5000);
  // Asking counts as well: it keeps a call from being made.
  assert.equal(b.database.enabled, false, 'the lease has ended');
  cut.delete(a.address);
  await time.pass(1500);
  b.database.debug('again');
  await time.pass(50);
  assert.deepEqual(
    got.received.map(({ message }) => message),
    ['first', 'next', 'again'],
  );
  assert.equal(got.counts.dropped, 9);
  // Longer than a minute: the process has left, and begins again.
  cut.add(a.address);
  await time.pass(65_000);
  assert.equal(got.instances.at(-1), 'b left');
  b.database.debug('while it was away');
  cut.delete(a.address);
  await time.pass(1500);
  b.database.debug('last');
  await time.pass(50);
  assert.deepEqual([got.received.at(-1)?.message, got.counts.dropped], ['last', 9]);
});

test('lines that arrive although sending them failed are not counted as dropped', async () => {
  const { time, doubtful, b, got } = await tailing();
  b.database.debug('first');
  await time.pass(50);
  doubtful.add(b.address);
  b.database.debug('second');
  await time.pass(50);
  doubtful.delete(b.address);
  b.database.debug('third');
  await time.pass(2000);
  assert.deepEqual([got.received.length, got.counts.dropped], [3, 0]);
});

test('a process that gives no tails is not tapped, and takes no more than so many', async () => {
  const { time, process, sent, a, b } = await tailing({}, { tails: false });
  assert.equal(b.database.enabled, false);
  const c = process('c');
  for (let tail = 0; tail < 80; tail++) a.relay.tail(SPEC, receiver());
  await time.pass(50);
  const ids = new Set(sent.filter(({ from }) => from === c.address).map(({ message }) => JSON.parse(message).id));
  assert.equal(ids.size, 64);
});

test('a message that is none of ours, or of another release, changes nothing', () => {
  const { process } = network();
  const { relay, database } = process('a');
  const lease = { type: 'tail', id: 'x', categories: ['DATABASE'], tenant: 'acme', rate: 1, log: false };
  const { tenant: _, ...unfiltered } = lease;
  for (const message of ['', '{', '[]', 'null', { ...lease, type: 'later' }, unfiltered, { ...lease, tenant: 1 }]) {
    relay.hear(typeof message === 'string' ? message : JSON.stringify(message), 'at-x');
  }
  assert.equal(database.enabled, false);
});

test('a tap is ended by the process alone that asked for it', async () => {
  const { sent, b } = await tailing();
  const { id } = JSON.parse(sent[0]!.message);
  b.relay.hear(JSON.stringify({ type: 'release', id }), 'at-another');
  assert.equal(b.database.enabled, true);
});

test('a message of any type with anything in it neither throws nor reaches the reader as more than one line', async () => {
  const { process, time, sent } = network();
  const a = process('a');
  const texts: string[] = [];
  a.relay.tail(SPEC, { ...receiver(), lines: ({ lines }) => texts.push(...lines.map(({ text }) => text)) });
  const measuring = a.relay.measure(SPEC, 60_000);
  await time.pass(50);
  const [tail, forecast] = sent.map(({ message }) => JSON.parse(message).id);
  const line = {
    timestamp: '2026-01-01T00:00:00.000Z',
    category: 'DATABASE',
    message: 'a\nb',
    attributes: { a: '\r' },
  };
  const wellFormed = JSON.stringify({ ...line, instance: 'b' });
  const lineText = fc.oneof(
    fc.constant(wellFormed),
    fc.json(),
    fc.string(),
    fc.constantFrom('\n', '\r', '\u2028').map((breaking) => wellFormed.replace(',', `,${breaking}`)),
  );
  const amounts = { calls: 1, bytes: 1, dropped: 0 };
  const messages = [
    { type: 'tail', id: 'x', categories: ['DATABASE'], tenant: null, rate: 10, log: false },
    { type: 'forecast', id: 'y', categories: ['DATABASE'], tenant: 'acme', milliseconds: 1000 },
    { type: 'release', id: 'x' },
    { type: 'lines', id: tail, instance: 'b', dropped: 0, before: 0 },
    { type: 'measured', id: forecast, instance: 'b', seconds: 1, categories: { DATABASE: amounts } },
    { type: 'leave', id: tail, instance: 'b' },
  ];
  let id = 0;
  fc.assert(
    fc.property(
      fc.record({
        message: fc.constantFrom(...messages),
        lines: fc.array(lineText, { maxLength: 3 }),
        member: fc.option(
          fc.constantFrom('id', 'instance', 'before', 'categories', 'tenant', 'rate', 'seconds', 'lines'),
          { freq: 1 },
        ),
        value: fc.jsonValue(),
        splice: fc.constantFrom('', '1e400', '\n', '"'),
      }),
      ({ message, lines, member, value, splice }) => {
        id += 1;
        const whole = { ...message, ...(message.type === 'lines' && { lines }), ...(member && { [member]: value }) };
        const text = JSON.stringify(whole).replace(':1,', `:1${splice},`);
        a.relay.hear(text, `at-${id}`);
      },
    ),
    { numRuns: 1000 },
  );
  assert.ok(texts.length > 10, `${texts.length} well-formed lines`);
  for (const text of texts) assert.doesNotMatch(text, /\p{Cc}|\u2028/u);
  assert.ok(measuring.answers.length > 10, `${measuring.answers.length} well-formed measurements`);
  for (const { seconds, categories } of measuring.answers) {
    assert.ok(Number.isFinite(Object.values(categories).reduce((sum, { bytes }) => sum + bytes / seconds, 0)));
  }
});
