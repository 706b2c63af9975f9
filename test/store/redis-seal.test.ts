import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_AGE_MS, type Sealed, SealedMessages, seal, unseal } from '../../src/store/sealed-messages.ts';

const SECRET = 'a'.repeat(64);
const SEALED: Sealed = { from: 'sender', number: 1, at: 1000, text: 'the line of a tenant' };

test('a message is opened with the secret, on its own channel, and unchanged alone', () => {
  const message = seal(SEALED, 'messages', SECRET);
  assert.deepEqual(unseal(message, 'messages', SECRET), SEALED);
  assert.doesNotMatch(message, /tenant/);
  assert.doesNotMatch(Buffer.from(message.split(' ')[3] ?? '', 'base64').toString('latin1'), /tenant/);
  assert.equal(unseal(message, 'messages:other', SECRET), undefined, 'another channel');
  assert.equal(unseal(message, 'messages', 'b'.repeat(64)), undefined, 'another secret');
  assert.equal(unseal(message, 'messages', ''), undefined, 'no secret');
  for (const [part, value] of [
    [0, 'another'],
    [1, '2'],
    [2, '9000'],
    [3, `${message.split(' ')[3]?.slice(0, -8)}AAAAAAAA`],
    [3, ''],
  ] as const) {
    assert.equal(unseal(message.split(' ').with(part, value).join(' '), 'messages', SECRET), undefined, `part ${part}`);
  }
  for (const text of ['', ' ', 'x', '{}', 'a b c d']) assert.equal(unseal(text, 'messages', SECRET), undefined);
});

/** A handle that keeps what it published and heard. */
function handle(writer: string) {
  const published: [channel: string, message: string][] = [];
  const time = { now: 1_000_000 };
  const store = new SealedMessages({
    server: 'Redis',
    address: writer,
    channelOf: (to) => (to === undefined ? 'messages' : `messages:${to}`),
    publish: async (sealed, channel) => published.push([channel, sealed]),
    known: {
      secret: SECRET,
      get time() {
        return time.now;
      },
    },
  });
  const heard: string[] = [];
  store.onMessage((message, from) => heard.push(`${from}: ${message}`));
  return { store, published, heard, time };
}

test('a message that was recorded and published again is not heard a second time', async () => {
  const [a, b] = [handle('a'), handle('b')];
  await a.store.send('tap', 'b');
  const [channel, message] = a.published[0]!;
  const hear = () => b.store.hear(message, channel);
  hear();
  hear();
  assert.deepEqual(b.heard, ['a: tap']);
  b.time.now += MAX_AGE_MS + 1;
  hear();
  const later = handle('c');
  later.time.now += MAX_AGE_MS + 1;
  later.store.hear(message, channel);
  assert.deepEqual([b.heard, later.heard], [['a: tap'], []]);
});

test('a message of a stranger is not heard, and one for another process is not heard on a channel for all', async () => {
  const [a, b] = [handle('a'), handle('b')];
  b.store.hear('tap', 'messages');
  b.store.hear(JSON.stringify(['tap', 'signature']), 'messages');
  await a.store.send('for c', 'c');
  b.store.hear(a.published[0]![1], 'messages');
  b.store.hear(a.published[0]![1], 'messages:b');
  assert.deepEqual(b.heard, []);
});
