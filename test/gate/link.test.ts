import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type TestContext, test } from 'node:test';
import { GateCore } from '../../src/gate/core.ts';
import { LEVEL } from '../../src/gate/levels.ts';
import { ThreadHost } from '../../src/gate/thread-host.ts';
import { ThreadLink } from '../../src/gate/thread-link.ts';
import { RecordingController } from './controllers.ts';

type Threads = ConstructorParameters<typeof ThreadLink>[0];

const THREAD_ID = 70_001;

/** The gates of a main thread and of a worker thread, in one thread: messages wait until they are delivered. */
function twoGates(t: TestContext) {
  const open = new Set<Channel>();
  class Channel {
    readonly name: string;
    readonly queue: unknown[] = [];
    onmessage: ((event: { data: unknown }) => void) | undefined;
    constructor(name: string) {
      this.name = name;
      open.add(this);
    }
    postMessage(message: unknown) {
      for (const each of open) if (each !== this && each.name === this.name) each.queue.push(structuredClone(message));
    }
    close() {
      open.delete(this);
    }
    unref() {}
  }
  const environment = new Map<unknown, unknown>();
  const threads = (threadId: number) =>
    ({
      threadId,
      BroadcastChannel: Channel,
      getEnvironmentData: (key: unknown) => environment.get(key),
      setEnvironmentData: (key: unknown, value: unknown) => void environment.set(key, value),
      receiveMessageOnPort: ({ queue }: Channel) => (queue.length > 0 ? { message: queue.shift() } : undefined),
    }) as unknown as Threads;
  const listeners = (['worker', 'exit'] as const).map((event) => [event, process.listeners(event as 'exit')] as const);
  const forget = () => {
    for (const [event, before] of listeners) {
      for (const each of process.listeners(event as 'exit')) if (!before.includes(each)) process.off(event, each);
    }
  };
  t.after(forget);
  const main = new GateCore({ hostThreads: (gate) => new ThreadHost(threads(0), gate) });
  const link = new ThreadLink(threads(THREAD_ID));
  const thread = new GateCore({ memory: link.memory });
  link.start(thread);
  // A thread has a `process` of its own.
  forget();
  return {
    main,
    thread,
    deliver: async () => {
      await Promise.resolve();
      for (let busy = true; busy; ) {
        busy = false;
        for (const channel of open) {
          if (channel.queue.length === 0) continue;
          busy = true;
          channel.onmessage?.({ data: channel.queue.shift() });
        }
      }
    },
  };
}

test('a thread follows the levels of everybody and of tenants, and the main thread gets those of its lines', async (t) => {
  const { main, thread, deliver } = twoGates(t);
  const orders = thread.category('ORDERS');
  const controller = new RecordingController();
  const attachment = main.attach(controller);
  await deliver();
  const passing = () =>
    Object.entries(LEVEL)
      .filter(
        ([, level]) =>
          orders.wanted && orders.passes({ bytes: 1, describe: () => ({ message: 'm' }) }, undefined, level),
      )
      .map(([name]) => name)[0];
  const heard: number[] = [];
  orders.onWanted(() => heard.push(orders.leastLevel));
  attachment.setBase(0, true, true, LEVEL.info);
  assert.deepEqual([passing(), orders.enabled, orders.level], ['info', false, LEVEL.info]);
  attachment.setTenant('acme', 0, true, LEVEL.warn);
  attachment.setTenant('other', 0, true, LEVEL.trace);
  await deliver();
  assert.deepEqual(
    ['acme', 'other', 'third'].map((tenant) => thread.runWithTenant(tenant, passing)),
    ['warn', 'trace', 'info'],
  );
  assert.equal(heard.at(-1), LEVEL.trace);
  attachment.setTenant('other', 0, undefined);
  attachment.setTenant('acme', 0, undefined);
  attachment.setBase(0, true);
  await deliver();
  assert.deepEqual([passing(), orders.leastLevel, heard.at(-1)], ['silly', 0, 0]);
});

test('a thread follows what is switched in the main thread, and its calls come out and count there', async (t) => {
  const { main, thread, deliver } = twoGates(t);
  const orders = thread.category('ORDERS', { description: 'of the thread' });
  const controlled: boolean[] = [];
  thread.onControlled((on) => controlled.push(on));
  const heard: boolean[] = [];
  orders.onWanted((wanted) => heard.push(wanted));
  main.category('OF_MAIN');
  const controller = new RecordingController();
  const attachment = main.attach(controller);
  await deliver();
  assert.deepEqual(
    main.categories().map(({ name, description }) => [name, description]),
    [
      ['OF_MAIN', ''],
      ['ORDERS', 'of the thread'],
    ],
  );
  assert.deepEqual([controlled, orders.wanted], [[true], false]);
  attachment.setBase(1, true);
  assert.equal(orders.wanted, true, 'without a message');
  await deliver();
  assert.deepEqual(heard, [true]);
  orders.debug('plain', { order: 42 });
  orders.debug('function', () => ({ order: 43 }));
  orders.debug('cannot be sent', { order: 44, render: () => 'rendered' });
  await deliver();
  assert.deepEqual(controller.emitted, [
    { category: 'ORDERS', message: 'plain', attributes: { order: 42 } },
    { category: 'ORDERS', message: 'function', attributes: { order: 43 } },
    { category: 'ORDERS', message: 'cannot be sent', attributes: { order: 44, render: "() => 'rendered'" } },
  ]);
  assert.deepEqual([main.callsTotal(1), main.droppedTotal(1)], [3, 0]);
  orders.debug('throws', () => {
    throw new Error('no attributes');
  });
  await deliver();
  assert.deepEqual([main.callsTotal(1), main.droppedTotal(1, 'failed')], [4, 1]);
  assert.deepEqual(
    controller.failures.map(({ category, error }) => `${category}: ${(error as Error).message}`),
    ['ORDERS: no attributes'],
  );
  thread.category('BY_DEFAULT', { enabled: true });
  await deliver();
  assert.deepEqual(controller.announced.at(-1), 'BY_DEFAULT on');
  attachment.suspend(true);
  await deliver();
  assert.deepEqual([controlled, heard, orders.wanted], [[true, false], [true, false], false]);
});

test("a tenant's override reaches a thread, and its calls are counted for it", async (t) => {
  const { main, thread, deliver } = twoGates(t);
  const orders = thread.category('ORDERS');
  const attachment = main.attach(Object.assign(new RecordingController(), { countsTenants: true }));
  await deliver();
  const on = (tenant: string) => thread.runWithTenant(tenant, () => orders.enabled);
  attachment.setTenant('acme', 0, true);
  await deliver();
  assert.deepEqual([on('acme'), on('other')], [true, false]);
  thread.runWithTenant('acme', () => orders.debug('m'));
  thread.runWithTenant('other', () => orders.debug('m'));
  await deliver();
  assert.deepEqual([main.tenantCalls.total('acme', 0), main.tenantCalls.total('other', 0)], [1, 0]);
  const late = thread.category('LATE');
  attachment.setTenant('acme', 0, undefined);
  await deliver();
  assert.deepEqual([on('acme'), late.wanted], [false, false]);
  attachment.setTenant('acme', 0, true);
  await deliver();
  attachment.detach();
  main.attach(new RecordingController()).setTenant('other', 0, true);
  await deliver();
  assert.deepEqual([on('acme'), on('other')], [false, true], 'with another control plane');
});

test('a control plane in the thread decides there, and hands back when it leaves', async (t) => {
  const { main, thread, deliver } = twoGates(t);
  const orders = thread.category('ORDERS');
  const attachment = main.attach(new RecordingController());
  attachment.setBase(0, true);
  await deliver();
  assert.equal(orders.wanted, true);
  const own = new RecordingController();
  const inThread = thread.attach(own);
  assert.equal(orders.wanted, false);
  attachment.setBase(0, true);
  assert.equal(orders.wanted, false, 'the main thread writes nothing');
  inThread.setBase(0, true);
  orders.debug('its own');
  await deliver();
  assert.equal(own.emitted.length, 1);
  inThread.detach();
  await deliver();
  assert.equal(orders.wanted, true);
  attachment.setBase(0, false);
  assert.equal(orders.wanted, false);
});

test('what an ended thread has counted stays, and what it sent before its end still comes out', async (t) => {
  const { main, thread, deliver } = twoGates(t);
  const orders = thread.category('ORDERS');
  const controller = new RecordingController();
  const attachment = main.attach(controller);
  attachment.setBase(0, true);
  await deliver();
  attachment.setBase(0, true);
  const worker = Object.assign(new EventEmitter(), { threadId: THREAD_ID });
  process.emit('worker', worker as never);
  orders.debug('last words');
  worker.emit('exit');
  assert.deepEqual(
    controller.emitted.map(({ message }) => message),
    ['last words'],
  );
  assert.equal(main.callsTotal(0), 1);
  attachment.setBase(0, false);
  assert.equal(orders.wanted, true, 'nobody writes to it any more');
});
