import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RdcpResponseError } from '../../src/client.ts';
import { TailSession, type TailSettings } from '../../src/tools/console/views/tail/tail-session.ts';
import { RdcpError } from '../../src/wire/errors.ts';
import type { TailEvent } from '../../src/wire/streams.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';
import { tailLine } from './discovered.ts';

const OPEN: TailEvent = {
  event: 'start',
  data: { revision: 1, instances: 2, categories: ['DATABASE'], expiresAt: '2026-01-31T00:05:00.000Z' },
};
const LINE = tailLine('query');
const line: TailEvent = { event: 'line', data: LINE };
const joined: TailEvent = { event: 'instance', data: { id: 'p1', state: 'joined' } };
const SETTINGS: TailSettings = { categories: ['DATABASE'], seconds: 300, log: false };
const lost = () => new RdcpError('RDCP_UNAVAILABLE', 'closed');
const refused = (status: number, code: string, retryAfter: string | null = null) =>
  new RdcpResponseError({ status, requestId: 'r', body: { error: { code, message: 'no' } }, retryAfter });

/** A server whose connections each send something, and then end with an error or stay open. */
function server(...connections: readonly (readonly (TailEvent | Error)[])[]) {
  const time = virtualTime();
  const asked: TailSettings[] = [];
  const signals: AbortSignal[] = [];
  const parts = {
    async *open(settings: TailSettings, signal: AbortSignal): AsyncGenerator<TailEvent> {
      const connection = connections[asked.length] ?? [];
      asked.push(settings);
      signals.push(signal);
      for (const event of connection) {
        if (event instanceof Error) throw event;
        yield event;
      }
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    now: () => time.clock.now(),
    after: time.delay,
    random: () => 1,
  };
  return { time, asked, signals, parts };
}

function started({ parts }: ReturnType<typeof server>, more: Partial<TailSettings> = {}) {
  const session = new TailSession({ ...parts, nameOf: (id) => `web:${id}`, changed: () => undefined });
  session.start({ ...SETTINGS, ...more });
  const notes = () => session.log.shown.flatMap((row) => (row.kind === 'note' ? [row.text] : []));
  return { session, notes };
}

test('a lost connection is made again for the time that is left, and the gap is shown', async () => {
  const served = server([OPEN, line, lost()], [OPEN, line]);
  const { session, notes } = started(served);
  await settled();
  assert.deepEqual([session.phase, session.problem?.status], ['lost', 'offline']);
  await served.time.pass(10_000);
  assert.deepEqual([session.phase, session.problem], ['running', undefined]);
  assert.equal(session.log.lines, 2);
  assert.deepEqual(
    served.asked.map(({ seconds }) => seconds),
    [300, 299],
  );
  assert.deepEqual(notes(), [
    'Tail of DATABASE',
    'The server cannot be reached',
    'Connected again; lines in between are missing',
  ]);
});

test('pauses between attempts grow, one note stands for them all, and at the end of the time it is over', async () => {
  const served = server([OPEN, lost()], ...Array.from({ length: 100 }, () => [lost()]));
  const { session, notes } = started(served);
  await settled();
  await served.time.pass(60_000);
  assert.ok(served.asked.length > 3 && served.asked.length < 9, `${served.asked.length} attempts in a minute`);
  assert.equal(notes().length, 2);
  await served.time.pass(300_000);
  assert.equal(session.phase, 'ended');
  assert.equal(notes().at(-1), 'The tail has ended: the time is over');
});

test('an error in the middle is waited for, and a refusal ends it', async () => {
  const limited = refused(429, 'RDCP_RATE_LIMITED', '5');
  for (const [what, connections, passed, expected] of [
    ['refused at the start', [[limited], [OPEN]], 60_000, ['ended', 429, 1]],
    ['limited in the middle', [[OPEN, lost()], [limited], [OPEN]], 5000, ['lost', 429, 2]],
    ['and let in after it', [[OPEN, lost()], [limited], [OPEN]], 7000, ['running', undefined, 3]],
    ['a credential that has ended', [[OPEN, lost()], [refused(401, 'RDCP_AUTH_FAILED')]], 60_000, ['ended', 401, 2]],
  ] as const) {
    const served = server(...connections);
    const { session } = started(served);
    await settled();
    await served.time.pass(passed);
    assert.deepEqual([session.phase, session.problem?.status, served.asked.length], expected, what);
  }
});

test('the end that the server names is shown', async () => {
  const end: TailEvent = { event: 'end', data: { reason: 'revoked', lines: 1, dropped: 0 } };
  const { session, notes } = started(server([OPEN, line, end]));
  await settled();
  assert.deepEqual([session.phase, session.problem], ['ended', undefined]);
  assert.equal(notes().at(-1), 'The tail has ended: the credential has expired or was revoked');
});

test('a narrowed tail says so in its first note, and in the next that other work is called', async () => {
  const target = { match: { 'user.id': '42' } };
  const calls = { calls: 3, unmatched: 3, outsideWork: 0, filtered: 0, unevaluated: 0, attributes: ['shop.id'] };
  const counted: TailEvent = { event: 'counts', data: { instances: 2, categories: { DATABASE: calls } } };
  const { session, notes } = started(server([OPEN, counted, counted]), { target });
  await settled();
  assert.equal(session.part, 'user.id=42');
  assert.deepEqual(notes(), [
    'Tail of DATABASE for user.id=42',
    'No line yet: DATABASE was called 3 times in 1 s in 2 processes; none had user.id=42 (attributes seen: shop.id)',
  ]);
});

test('a tail that ends without a line says what became of the calls, and one with a line does not', async () => {
  const counts = {
    calls: 9,
    unmatched: 0,
    outsideWork: 0,
    filtered: 0,
    unevaluated: 9,
    problem: 'no field `a`',
    attributes: [],
  };
  const counted: TailEvent = { event: 'counts', data: { instances: 1, categories: { DATABASE: counts } } };
  for (const [events, expected] of [
    [[OPEN, counted], /DATABASE was called 9 times in 7 s in 1 of 2 processes; 9 could not be evaluated: no field `a`/],
    [[OPEN, counted, line], /^Tail of/],
  ] as const) {
    const served = server(events);
    const { session, notes } = started(served);
    await settled();
    await served.time.pass(7000);
    session.stop();
    assert.match(notes().at(-2)!, expected);
  }
});

test('it knows processes, dropped lines, and whether lines come slowly enough to be read out', async () => {
  const dropped: TailEvent = { event: 'dropped', data: { count: 7, since: LINE.timestamp } };
  const served = server([OPEN, joined, line, dropped, line, lost()], [OPEN, joined, line, line, line]);
  const { session, notes } = started(served);
  await settled();
  assert.equal(session.dropped, 7);
  assert.deepEqual([...session.processes], [['p1', false]]);
  assert.deepEqual(notes().slice(1, 3), [
    'web:p1 joined',
    '7 lines dropped: over the rate, too fast for this page, or lost while the store was away',
  ]);
  assert.equal(session.isQuiet, true);
  await served.time.pass(2000);
  assert.deepEqual([...session.processes], [['p1', true]]);
  assert.equal(session.asked, 2);
  assert.equal(session.isQuiet, false);
  await served.time.pass(20_000);
  assert.equal(session.isQuiet, true);
});
