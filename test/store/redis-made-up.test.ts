import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { connectionLike, searchAgain, sendThrough } from '../../src/store/redis/client.ts';
import { listenLike } from '../../src/store/redis/connection.ts';

const { signal } = new AbortController();

/** Answers as a cluster client: each call takes the next answer; an error is thrown. */
function clusterOf(...answers: unknown[]) {
  const sent: unknown[][] = [];
  const client = {
    getRandomNode: () => 'any',
    async sendCommand(...[key, readOnly, args]: unknown[]) {
      sent.push([key, readOnly, args]);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  return { client: client as never, sent };
}

test('a cluster whose slot is split is asked again, and any other error rejects', async () => {
  const { client, sent } = clusterOf(new Error('TRYAGAIN Multiple keys'), 'OK', new Error('READONLY'));
  const send = sendThrough(client, 'k');
  assert.equal(await send(['GET', 'k'], signal), 'OK');
  await assert.rejects(send(['SET', 'k'], signal), /READONLY/);
  assert.deepEqual(sent, [
    ['k', false, ['GET', 'k']],
    ['k', false, ['GET', 'k']],
    ['k', false, ['SET', 'k']],
  ]);
});

test('a cluster that gave no answer is asked by any node, which redirects; a Sentinel is not', async () => {
  const { client, sent } = clusterOf(1);
  await searchAgain(client, 'k', signal);
  assert.deepEqual(sent, [[undefined, true, ['HLEN', 'k']]]);
  await searchAgain({ getMasterNode: () => assert.fail(), sendCommand: () => assert.fail() } as never, 'k', signal);
});

test('a Sentinel sends as itself, and a client only when it is connected', async () => {
  const sentinel = { getMasterNode: () => {}, sendCommand: async (...[readOnly, args]: unknown[]) => [readOnly, args] };
  assert.deepEqual(await sendThrough(sentinel as never, 'k')(['PING'], signal), [false, ['PING']]);
  const client = { isReady: false, sendCommand: async (args: unknown) => args };
  await assert.rejects(sendThrough(client as never, 'k')(['PING'], signal), /Redis is not connected/);
  client.isReady = true;
  assert.deepEqual(await sendThrough(client as never, 'k')(['PING'], signal), ['PING']);
});

test('a connection of version 5 that has ended already is destroyed without an error', async () => {
  const made = {
    destroy: () => {
      throw new Error('The client is closed');
    },
  };
  const connection = await connectionLike({ duplicate: () => made } as never)();
  assert.doesNotThrow(() => connection.destroy());
});

/** A Sentinel client whose subscriptions the test settles. */
function sentinelOf() {
  const seen = { unsubscribed: 0, subscribed: 0, isOpen: true };
  const pending: PromiseWithResolvers<void>[] = [];
  const client = {
    getMasterNode: () => {},
    get isOpen() {
      return seen.isOpen;
    },
    subscribe() {
      const settled = Promise.withResolvers<void>();
      pending.push(settled);
      return settled.promise;
    },
    async unsubscribe() {
      seen.unsubscribed += 1;
      throw new Error('closed');
    },
  };
  const messages = listenLike(client as never, {
    channels: ['changed'],
    hear: () => {},
    subscribed: () => {
      seen.subscribed += 1;
    },
    deadlineMs: 1000,
  });
  return { messages, seen, pending };
}

test('a subscription of a Sentinel client that was lost and renewed calls back, one that lasts does not', async () => {
  const { messages, seen, pending } = sentinelOf();
  const check = async (outcome: 'stands' | 'lost') => {
    const asked = pending.shift();
    if (outcome === 'stands') asked?.resolve();
    else asked?.reject(new Error('no primary'));
    await setImmediate();
    messages.check();
    return seen.subscribed;
  };
  const told = [
    await check('lost'),
    await check('stands'),
    await check('stands'),
    await check('lost'),
    await check('stands'),
  ];
  assert.deepEqual(told, [0, 1, 1, 1, 2]);
  messages.close();
  assert.equal(seen.unsubscribed, 1);
});

test('a subscription that comes to stand after the end is given up, and a closed client is left alone', async () => {
  const { messages, seen, pending } = sentinelOf();
  messages.close();
  assert.equal(seen.unsubscribed, 0);
  pending[0]?.resolve();
  await setImmediate();
  assert.deepEqual([seen.unsubscribed, seen.subscribed], [1, 0]);
  seen.isOpen = false;
  messages.check();
  assert.equal(pending.length, 1);
});
