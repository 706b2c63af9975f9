import assert from 'node:assert/strict';
import { MAX_MESSAGE_BYTES } from '../../../src/store/message-store.ts';
import type { StateStore } from '../../../src/store/state-store.ts';
import { until } from './samples.ts';
import type { AddCase } from './suite.ts';

/** Shows that a handle is heard; no message of a case. */
const GREETING = 'hello';

/** Makes a handle listen to changes, as a process does, and to messages. */
async function listenWith(store: StateStore) {
  await store.load();
  store.subscribe(() => {});
  const { messages } = store;
  assert.ok(messages, 'the store carries messages');
  const heard: (readonly [message: string, from: string])[] = [];
  const greetedBy = new Set<string>();
  const stop = messages.onMessage((message, from) => {
    if (message === GREETING) greetedBy.add(from);
    else heard.push([message, from]);
  });
  const said = () => heard.map(([message]) => message);
  return { store, messages, address: messages.address, heard, greetedBy, said, stop };
}
type Listening = Awaited<ReturnType<typeof listenWith>>;

/** Sends until every handle has heard every other one: a subscription may take a moment. */
async function connected(...handles: readonly Listening[]): Promise<void> {
  for (const { messages, address } of handles) {
    const others = handles.filter((other) => other.address !== address);
    const heardByAll = () => others.every(({ greetedBy }) => greetedBy.has(address));
    for (let attempt = 0; attempt < 50 && !heardByAll(); attempt++) {
      await messages.send(GREETING).catch(() => {});
      await until(heardByAll, 'the first message', 100).catch(() => {});
    }
  }
}

/** The part of the contract that is about messages between processes. */
export function messageStoreContract(add: AddCase): void {
  const test = (name: string, run: (listen: () => Promise<Listening>) => unknown) =>
    add(name, ({ open }) => run(async () => listenWith(await open())));

  test('a message to all comes to every other handle, with the address of its sender, and not to itself', async (listen) => {
    const [a, b, c] = [await listen(), await listen(), await listen()];
    await connected(a, b, c);
    assert.equal(new Set([a.address, b.address, c.address]).size, 3);
    await a.messages.send('for all');
    await until(() => b.heard.length > 0 && c.heard.length > 0, 'the message');
    assert.deepEqual([b.heard, c.heard], [[['for all', a.address]], [['for all', a.address]]]);
    assert.deepEqual(a.heard, []);
  });

  test('a message to one comes to that one alone', async (listen) => {
    const [a, b, c] = [await listen(), await listen(), await listen()];
    await connected(a, b, c);
    await a.messages.send('for c', c.address);
    await c.messages.send('after it');
    await until(() => b.heard.length > 0 && c.heard.length > 0, 'the messages');
    assert.deepEqual([b.said(), c.said()], [['after it'], ['for c']]);
  });

  test('messages of one sender come in order and as they were sent', async (listen) => {
    const [a, b] = [await listen(), await listen()];
    await connected(a, b);
    const sent = ['', '"quotes" \\ and\nlines\0', 'Grüße 🎉 €', '/'.repeat(300_000), ...Array.from('12345')];
    for (const message of sent) await a.messages.send(message, b.address);
    await until(() => b.heard.length === sent.length, 'every message');
    assert.deepEqual(b.said(), sent);
  });

  test('a handle that does not listen hears nothing, and a listener that throws does not affect the others', async (listen) => {
    const [a, b] = [await listen(), await listen()];
    const stopThrowing = b.messages.onMessage(() => {
      throw new Error('from a listener');
    });
    const second: string[] = [];
    b.messages.onMessage((message) => {
      if (message !== GREETING) second.push(message);
    });
    await connected(a, b);
    await a.messages.send('one');
    await until(() => b.heard.length === 1 && second.length === 1, 'the message at both');
    b.stop();
    stopThrowing();
    await a.messages.send('two');
    await until(() => second.length === 2, 'the next message');
    assert.deepEqual([b.said(), second], [['one'], ['one', 'two']]);
  });

  test('a message that is too long is refused, and so is one of a closed handle', async (listen) => {
    const [a, b] = [await listen(), await listen()];
    await connected(a, b);
    await assert.rejects(a.messages.send('x'.repeat(MAX_MESSAGE_BYTES + 1)));
    await a.messages.send('still works');
    await until(() => b.heard.length === 1, 'the message');
    await a.store.close();
    await assert.rejects(a.messages.send('closed'));
  });
}
