import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { Follower, type FollowerState } from '../../src/tools/console/state/follower.ts';
import { retryDelay } from '../../src/wire/time/retry-delay.ts';

interface Event {
  readonly id?: string;
}

/** A server whose streams end as the test says, and a clock that runs when the test says so. */
function scene({ final = (): boolean => false, askedFor = () => undefined as number | undefined } = {}) {
  const opened: { lastEventId: string | undefined; signal: AbortSignal; send(event: Event): void; fail(): void }[] = [];
  const states: FollowerState[] = [];
  const received: Event[] = [];
  let now = 0;
  const timers = new Set<{ at: number; task: () => void }>();
  const follower = new Follower<Event>({
    open: (lastEventId, signal) => {
      const events: Event[] = [];
      let wake = Promise.withResolvers<void>();
      let failed = false;
      opened.push({
        lastEventId,
        signal,
        send(event) {
          events.push(event);
          wake.resolve();
        },
        fail() {
          failed = true;
          wake.resolve();
        },
      });
      return (async function* () {
        for (;;) {
          await wake.promise;
          wake = Promise.withResolvers();
          yield* events.splice(0);
          if (failed) throw new Error('gone');
        }
      })();
    },
    receive: (event) => received.push(event),
    changed: (state) => states.push(state),
    isFinal: final,
    askedFor,
    after: (milliseconds, task) => {
      const timer = { at: now + milliseconds, task };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    random: () => 1,
  });
  return {
    follower,
    opened,
    states,
    received,
    names: () => states.map(({ state }) => state),
    async pass(milliseconds: number) {
      now += milliseconds;
      for (const timer of [...timers]) {
        if (timer.at > now) continue;
        timers.delete(timer);
        timer.task();
      }
      await settled();
    },
  };
}

test('a stream that breaks is opened again from where it was, after longer and longer pauses', async () => {
  const { follower, opened, states, names, pass } = scene();
  follower.start();
  opened[0]?.send({ id: '7' });
  await settled();
  opened[0]?.fail();
  await settled();
  assert.deepEqual(names(), ['connecting', 'live', 'lost']);
  await pass(999);
  assert.equal(opened.length, 1);
  await pass(1);
  assert.equal(opened[1]?.lastEventId, '7');
  opened[1]?.fail();
  await settled();
  const delays = states.flatMap((state) => (state.state === 'lost' ? [state.delayMs] : []));
  assert.deepEqual(delays, [1000, 2000]);
});

test('a connection that lasted begins with the shortest pause again; one that did not goes on with longer ones', async () => {
  for (const [lasted, expected] of [
    [9_999, 2000],
    [10_000, 1000],
  ] as const) {
    const { follower, opened, states, pass } = scene();
    follower.start();
    opened[0]?.fail();
    await settled();
    await pass(1000);
    opened[1]?.send({});
    await settled();
    await pass(lasted);
    opened[1]?.fail();
    await settled();
    const last = states.at(-1);
    assert.equal(last?.state === 'lost' && last.delayMs, expected);
  }
});

test('a page that is hidden has no connection and no timer, and goes on where it was', async () => {
  const { follower, opened, received, names, pass } = scene();
  follower.start();
  opened[0]?.send({ id: '3' });
  await settled();
  follower.pause();
  assert.equal(opened[0]?.signal.aborted, true);
  opened[0]?.send({ id: '4' });
  await pass(3_600_000);
  assert.equal(opened.length, 1);
  assert.equal(received.length, 1);
  assert.equal(names().at(-1), 'paused');
  follower.start();
  assert.equal(opened[1]?.lastEventId, '3');
});

test('it tries at once when the network is back, but only where it waits', async () => {
  const { follower, opened } = scene();
  follower.wake();
  assert.equal(opened.length, 0);
  follower.start();
  follower.wake();
  assert.equal(opened.length, 1);
  opened[0]?.fail();
  await settled();
  follower.wake();
  assert.equal(opened.length, 2);
});

test('a refusal ends it, and the time that the server asks for is waited', async () => {
  const refused = scene({ final: () => true });
  refused.follower.start();
  refused.opened[0]?.fail();
  await settled();
  assert.equal(refused.names().at(-1), 'stopped');
  await refused.pass(3_600_000);
  assert.equal(refused.opened.length, 1);

  const limited = scene({ askedFor: () => 45_000 });
  limited.follower.start();
  limited.opened[0]?.fail();
  await settled();
  await limited.pass(44_999);
  assert.equal(limited.opened.length, 1);
  await limited.pass(1);
  assert.equal(limited.opened.length, 2);
});

test('another scope begins without the position of the one before', async () => {
  const { follower, opened } = scene();
  follower.start();
  opened[0]?.send({ id: '3' });
  await settled();
  follower.restart();
  assert.equal(opened[1]?.lastEventId, undefined);
});

test('pauses double up to half a minute, and are spread over their second half', () => {
  const pauses = [1, 2, 3, 6, 7, 1000].map((failures) => retryDelay({ failures, longestMs: 30_000, random: 1 }));
  assert.deepEqual(pauses, [1000, 2000, 4000, 30_000, 30_000, 30_000]);
  assert.equal(retryDelay({ failures: 3, longestMs: 30_000, random: 0 }), 2000);
  assert.equal(retryDelay({ failures: 1, longestMs: 30_000, askedForMs: 9000, random: 0 }), 9000);
});
