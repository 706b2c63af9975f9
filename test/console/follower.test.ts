import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Follower, type FollowerState } from '../../src/tools/console/state/follower.ts';
import { retryDelay } from '../../src/wire/time/retry-delay.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';

interface Event {
  readonly id?: string;
}

/** A server whose streams send what the test says; `undefined` breaks one. */
function scene({ final = false, askedForMs = undefined as number | undefined } = {}) {
  const time = virtualTime();
  const opened: { lastEventId: string | undefined; signal: AbortSignal; send(event?: Event): Promise<void> }[] = [];
  const states: FollowerState[] = [];
  const received: Event[] = [];
  const follower = new Follower<Event>({
    open: (lastEventId, signal) => {
      let next = Promise.withResolvers<Event | undefined>();
      opened.push({
        lastEventId,
        signal,
        send: (event) => {
          next.resolve(event);
          next = Promise.withResolvers();
          return settled();
        },
      });
      return (async function* () {
        for (;;) {
          const event = await next.promise;
          if (event === undefined) throw new Error('gone');
          yield event;
        }
      })();
    },
    receive: (event) => received.push(event),
    changed: (state) => states.push(state),
    isFinal: () => final,
    askedFor: () => askedForMs,
    silentMs: 3000,
    after: time.delay,
    random: () => 1,
  });
  follower.start();
  return { follower, opened, states, received, pass: time.pass };
}

test('a stream that breaks is opened again from where it was, after longer and longer pauses', async () => {
  const { opened, states, pass } = scene();
  await opened[0]?.send({ id: '7' });
  await opened[0]?.send();
  assert.deepEqual(
    states.map(({ state }) => state),
    ['connecting', 'live', 'lost'],
  );
  await pass(999);
  assert.equal(opened.length, 1);
  await pass(1);
  assert.equal(opened[1]?.lastEventId, '7');
  await opened[1]?.send();
  const delays = states.flatMap((state) => (state.state === 'lost' ? [state.delayMs] : []));
  assert.deepEqual(delays, [1000, 2000]);
});

test('a connection that lasted begins with the shortest pause again; one that did not goes on with longer ones', async () => {
  for (const [lasted, expected] of [
    [9_999, 2000],
    [10_000, 1000],
  ] as const) {
    const { opened, states, pass } = scene();
    await opened[0]?.send();
    await pass(1000);
    await opened[1]?.send({});
    await pass(lasted);
    await opened[1]?.send();
    const last = states.at(-1);
    assert.equal(last?.state === 'lost' && last.delayMs, expected);
  }
});

test('a hidden page has no connection and no timer, and goes on where it was; another scope begins anew', async () => {
  const { follower, opened, received, states, pass } = scene();
  await opened[0]?.send({ id: '3' });
  follower.pause();
  await opened[0]?.send({ id: '4' });
  await pass(3_600_000);
  assert.deepEqual([opened.length, opened[0]?.signal.aborted, received.length], [1, true, 1]);
  assert.equal(states.at(-1)?.state, 'paused');
  follower.start();
  assert.equal(opened[1]?.lastEventId, '3');
  follower.restart();
  assert.equal(opened[2]?.lastEventId, undefined);
});

test('a stream without an event for three seconds is silent, until the next one', async () => {
  const { opened, states, pass } = scene();
  await opened[0]?.send({});
  await pass(2999);
  await opened[0]?.send({});
  await pass(2999);
  assert.equal(states.at(-1)?.state, 'live');
  await pass(1);
  assert.equal(states.at(-1)?.state, 'silent');
  await opened[0]?.send({});
  await pass(2999);
  await opened[0]?.send();
  assert.deepEqual(
    states.map(({ state }) => state),
    ['connecting', 'live', 'silent', 'live', 'lost'],
  );
  await pass(999);
  assert.equal(states.length, 5);
});

test('it tries at once when the network is back, but only where it waits', async () => {
  const { follower, opened } = scene();
  follower.wake();
  assert.equal(opened.length, 1);
  await opened[0]?.send();
  follower.wake();
  assert.equal(opened.length, 2);
});

test('a refusal ends it, and the time that the server asks for is waited', async () => {
  const refused = scene({ final: true });
  await refused.opened[0]?.send();
  await refused.pass(3_600_000);
  assert.deepEqual([refused.states.at(-1)?.state, refused.opened.length], ['stopped', 1]);

  const limited = scene({ askedForMs: 45_000 });
  await limited.opened[0]?.send();
  await limited.pass(44_999);
  assert.equal(limited.opened.length, 1);
  await limited.pass(1);
  assert.equal(limited.opened.length, 2);
});

test('pauses double up to half a minute, and are spread over their second half', () => {
  const pauses = [1, 2, 3, 6, 7, 1000].map((failures) => retryDelay({ failures, longestMs: 30_000, random: 1 }));
  assert.deepEqual(pauses, [1000, 2000, 4000, 30_000, 30_000, 30_000]);
  assert.equal(retryDelay({ failures: 3, longestMs: 30_000, random: 0 }), 2000);
  assert.equal(retryDelay({ failures: 1, longestMs: 30_000, askedForMs: 9000, random: 0 }), 9000);
});
