import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RdcpResponseError } from '../../src/client.ts';
import type { Note } from '../../src/console/views/tail/line-log.ts';
import { type TailPhase, TailRun, type TailSettings } from '../../src/console/views/tail/tail-run.ts';
import { TailSession } from '../../src/console/views/tail/tail-session.ts';
import { RdcpError } from '../../src/errors.ts';
import type { TailEvent, TailLine } from '../../src/protocol/streams.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';

const OPEN: TailEvent = {
  event: 'open',
  data: { revision: 1, instances: 2, categories: ['DATABASE'], expiresAt: '2026-01-31T00:05:00.000Z' },
};
const LINE: TailLine = {
  timestamp: '2026-01-31T00:00:00.000Z',
  category: 'DATABASE',
  message: 'query',
  attributes: {},
  instance: 'p1',
};
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

function run(parts: ReturnType<typeof server>['parts']) {
  const lines: TailLine[] = [];
  const notes: Note[] = [];
  const phases: TailPhase[] = [];
  const tail = new TailRun(SETTINGS, {
    ...parts,
    line: (each) => void lines.push(each),
    note: (note) => void notes.push(note),
    changed: (phase) => void phases.push(phase),
  });
  return { tail, lines, notes, phases };
}

test('stopping closes the connection', async () => {
  const { parts, signals } = server([OPEN, line]);
  const { tail, lines, phases } = run(parts);
  await settled();
  assert.equal(lines.length, 1);
  tail.stop();
  assert.ok(signals[0]?.aborted);
  assert.deepEqual(phases.at(-1), { phase: 'ended', reason: 'stopped' });
  tail.stop();
  assert.equal(phases.filter(({ phase }) => phase === 'ended').length, 1);
});

test('a lost connection is made again for the time that is left, and the gap is shown', async () => {
  const { parts, asked, time } = server([OPEN, line, lost()], [OPEN, line]);
  const { notes, phases, lines } = run(parts);
  await settled();
  assert.equal(phases.at(-1)?.phase, 'lost');
  await time.pass(10_000);
  assert.equal(phases.at(-1)?.phase, 'running');
  assert.equal(lines.length, 2);
  assert.deepEqual(
    asked.map(({ seconds }) => seconds),
    [300, 299],
  );
  assert.deepEqual(
    notes.map(({ type }) => type),
    ['began', 'lost', 'began'],
  );
  assert.equal(notes[2]?.type === 'began' && notes[2].again, true);
});

test('pauses between attempts grow, one note stands for them all, and at the end of the time it is over', async () => {
  const { parts, asked, time } = server([OPEN, lost()], ...Array.from({ length: 100 }, () => [lost()]));
  const { notes, phases } = run(parts);
  await settled();
  await time.pass(60_000);
  assert.ok(asked.length > 3 && asked.length < 9, `${asked.length} attempts in a minute`);
  assert.equal(notes.filter(({ type }) => type === 'lost').length, 1);
  await time.pass(300_000);
  assert.deepEqual(phases.at(-1), { phase: 'ended', reason: 'expired' });
});

test('a refusal at the start is shown, and nothing is tried again', async () => {
  const { parts, asked, time } = server([refused(429, 'RDCP_RATE_LIMITED', '5')], [OPEN]);
  const { phases, notes } = run(parts);
  await time.pass(60_000);
  const last = phases.at(-1);
  assert.equal(last?.phase === 'failed' && last.problem.kind, 'rate-limited');
  assert.equal(asked.length, 1);
  assert.deepEqual(notes, []);
});

test('a limit in the middle is waited for: the server may still count the lost connection', async () => {
  const { parts, asked, time } = server([OPEN, lost()], [refused(429, 'RDCP_RATE_LIMITED', '5')], [OPEN]);
  const { phases } = run(parts);
  await settled();
  await time.pass(1000);
  assert.equal(asked.length, 2);
  await time.pass(4000);
  assert.equal(asked.length, 2);
  await time.pass(2000);
  assert.equal(phases.at(-1)?.phase, 'running');
});

test('a credential that is no longer accepted ends it', async () => {
  const { parts, asked, time } = server([OPEN, lost()], [refused(401, 'RDCP_AUTH_FAILED')], [OPEN]);
  const { phases } = run(parts);
  await settled();
  await time.pass(60_000);
  const last = phases.at(-1);
  assert.equal(last?.phase === 'failed' && last.problem.kind, 'unauthenticated');
  assert.equal(asked.length, 2);
});

test('the end that the server names is shown', async () => {
  const end: TailEvent = { event: 'end', data: { reason: 'revoked', lines: 1, dropped: 0 } };
  const { parts } = server([OPEN, line, end]);
  const { phases, notes } = run(parts);
  await settled();
  assert.deepEqual(phases.at(-1), { phase: 'ended', reason: 'revoked' });
  assert.deepEqual(notes.at(-1), { type: 'ended', reason: 'revoked' });
});

test('the view knows processes, dropped lines, and whether lines come slowly enough to be read out', async () => {
  const dropped: TailEvent = { event: 'dropped', data: { count: 7, since: LINE.timestamp } };
  const { parts, time } = server([OPEN, joined, line, dropped, line, lost()], [OPEN, joined, line, line, line]);
  const session = new TailSession({ ...parts, changed: () => undefined });
  session.start(SETTINGS);
  await settled();
  assert.equal(session.dropped, 7);
  assert.deepEqual([...session.processes.values()], [{ id: 'p1', number: 0, here: false }]);
  assert.equal(session.isQuiet, true);
  await time.pass(2000);
  assert.deepEqual([...session.processes.values()], [{ id: 'p1', number: 0, here: true }]);
  assert.equal(session.asked, 2);
  assert.equal(session.isQuiet, false);
  await time.pass(20_000);
  assert.equal(session.isQuiet, true);
  assert.equal(session.isRunning, true);
  session.stop();
  assert.equal(session.isRunning, false);
});
