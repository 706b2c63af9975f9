import assert from 'node:assert/strict';
import { MAX_MESSAGE_BYTES, type MessageStore } from '../store/message-store.ts';
import type { StateStore } from '../store/state-store.ts';
import type { StoreFixture } from './fixture.ts';
import { until } from './samples.ts';
import type { Suite } from './suite.ts';

/** What a store does that carries messages between the processes that share it. */
export function messageStoreContract(
  { describe, test, beforeEach, afterEach }: Suite,
  create: () => Promise<StoreFixture>,
): void {
  describe('messages', () => {
    let fixture: StoreFixture;

    beforeEach(async () => {
      fixture = await create();
    });
    afterEach(() => fixture.dispose());

    /** A handle that hears of changes, as a process does, and of messages. */
    async function listen() {
      const store = await fixture.open();
      await store.load();
      store.subscribe(() => {});
      const messages = messagesOf(store);
      const heard: (readonly [message: string, from: string])[] = [];
      const stop = messages.onMessage((message, from) => heard.push([message, from]));
      const said = () => heard.map(([message]) => message);
      return { store, messages, address: messages.address, heard, said, stop };
    }
    type Listening = Awaited<ReturnType<typeof listen>>;

    /** Sends until everybody has heard: a subscription may take a moment. */
    async function connected(...handles: readonly Listening[]): Promise<void> {
      for (const { messages } of handles) {
        const others = handles.filter(({ address }) => address !== messages.address);
        const heardByAll = () => others.every(({ heard }) => heard.some(([, from]) => from === messages.address));
        for (let attempt = 0; attempt < 50 && !heardByAll(); attempt++) {
          await messages.send('hello').catch(() => {});
          await until(heardByAll, 'the first message', 100).catch(() => {});
        }
      }
      // Messages on their way.
      await new Promise((resolve) => setTimeout(resolve, 200));
      for (const { heard } of handles) heard.length = 0;
    }

    test('a message to all comes to every other handle, with the address of its sender, and not to itself', async () => {
      const [a, b, c] = [await listen(), await listen(), await listen()];
      await connected(a, b, c);
      assert.equal(new Set([a.address, b.address, c.address]).size, 3);
      await a.messages.send('for all');
      await until(() => b.heard.length > 0 && c.heard.length > 0, 'the message');
      assert.deepEqual([b.heard, c.heard], [[['for all', a.address]], [['for all', a.address]]]);
      assert.deepEqual(a.heard, []);
    });

    test('a message to one comes to that one alone', async () => {
      const [a, b, c] = [await listen(), await listen(), await listen()];
      await connected(a, b, c);
      await a.messages.send('for c', c.address);
      await c.messages.send('after it');
      await until(() => b.heard.length > 0 && c.heard.length > 0, 'the messages');
      assert.deepEqual([b.said(), c.said()], [['after it'], ['for c']]);
    });

    test('messages of one sender come in order and as they were sent', async () => {
      const [a, b] = [await listen(), await listen()];
      await connected(a, b);
      const sent = ['', '"quotes" \\ and\nlines\0', 'Grüße 🎉 €', '/'.repeat(300_000), ...Array.from('12345')];
      for (const message of sent) await a.messages.send(message, b.address);
      await until(() => b.heard.length === sent.length, 'every message');
      assert.deepEqual(b.said(), sent);
    });

    test('who does not listen, or no more, hears nothing, and a listener that throws harms no other', async () => {
      const [a, b] = [await listen(), await listen()];
      const stopThrowing = b.messages.onMessage(() => {
        throw new Error('from a listener');
      });
      const second: string[] = [];
      b.messages.onMessage((message) => second.push(message));
      await connected(a, b);
      second.length = 0;
      await a.messages.send('one');
      await until(() => b.heard.length === 1 && second.length === 1, 'the message at both');
      b.stop();
      stopThrowing();
      await a.messages.send('two');
      await until(() => second.length === 2, 'the next message');
      assert.deepEqual([b.said(), second], [['one'], ['one', 'two']]);
    });

    test('a message that is too long is refused, and so is one of a closed handle', async () => {
      const [a, b] = [await listen(), await listen()];
      await connected(a, b);
      await assert.rejects(a.messages.send('x'.repeat(MAX_MESSAGE_BYTES + 1)));
      await a.messages.send('still works');
      await until(() => b.heard.length === 1, 'the message');
      await a.store.close();
      await assert.rejects(a.messages.send('closed'));
    });
  });
}

function messagesOf({ messages }: StateStore): MessageStore {
  assert.ok(messages, 'the store carries messages');
  return messages;
}
