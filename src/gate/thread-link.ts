import type { BroadcastChannel } from 'node:worker_threads';
import type { ControllerAttachment } from './attachment.ts';
import { CAPACITY, hasBit } from './bits.ts';
import type { GateCore } from './core.ts';
import { DROP, type DropCode } from './drops.ts';
import { activeSpan } from './span-context.ts';
import {
  createThreadBuffers,
  type FromMain,
  type FromThread,
  type GivenAttributes,
  type Inheritance,
  type OnCommonChannel,
  type Registration,
  STATE,
  type TenantCallsOf,
  THREADS,
  type ThreadMemory,
  viewThread,
  writeSharedBit,
} from './thread-memory.ts';
import type { Attributes, CategoryDescriptor, Controller } from './types.ts';

/** Records that may be on their way to the main thread. A thread that emits faster loses the lines beyond, and counts them. */
const MAX_UNDERWAY = 1000;

type Threads = typeof import('node:worker_threads');

/** The gate of a worker thread, as far as it follows that of the main thread. */
export class ThreadLink {
  readonly memory: ThreadMemory;
  readonly controller: Controller;
  readonly #buffers = createThreadBuffers();
  readonly #threads: Threads;
  readonly #inherited: Inheritance | undefined;
  readonly #own: BroadcastChannel;
  readonly #id: string;
  /** What was registered before the main thread heard this one's own channel. */
  readonly #early: Registration[] = [];
  #common: BroadcastChannel | undefined;
  #tenantCalls = new Map<string, Map<number, number>>();
  #attachment: ControllerAttachment | undefined;
  #countsTenants = false;
  #maxCategories = CAPACITY;
  #seen = 0;

  constructor(threads: Threads) {
    this.#threads = threads;
    this.#inherited = threads.getEnvironmentData(THREADS) as unknown as Inheritance | undefined;
    this.memory = viewThread(this.#buffers);
    this.#id = `${THREADS}.${threads.threadId}.${globalThis.crypto.randomUUID()}`;
    this.#own = this.#open(this.#id, (message) => this.#told(message as FromMain));
    const link = this;
    this.controller = {
      sink: {
        emit: (category, message, attributes, tenantId) => link.#emit(category, message, attributes, tenantId, false),
        tap: (category, message, attributes, tenantId) => {
          link.#emit(category, message, attributes, tenantId, true);
          return undefined;
        },
        // There is no tracer here that the main thread knows of.
        span: (_category, _name, fn) => fn(),
      },
      get maxCategories() {
        return link.#maxCategories;
      },
      registered: (category) => link.#registered(category),
      failed: ({ index }, error) =>
        link.#say({ kind: 'failed', index, reason: error instanceof Error ? error.message : textOf(error) }),
    };
  }

  /** Says hello to the main thread, now and whenever it comes. */
  start(core: GateCore): void {
    this.#attachment = core.follow(this);
    const { threadId, setEnvironmentData } = this.#threads;
    const ancestors = this.#inherited?.ancestors ?? [];
    if (this.#inherited !== undefined) {
      setEnvironmentData(THREADS, { ...this.#inherited, ancestors: [...ancestors, threadId] } as never);
    }
    const sayHello = () => {
      const registered = this.#early;
      const hello: OnCommonChannel = {
        kind: 'hello',
        id: this.#id,
        threadId,
        ancestors,
        buffers: this.#buffers,
        registered,
      };
      this.#common?.postMessage(hello);
    };
    this.#common = this.#open(THREADS, (message) => {
      if ((message as OnCommonChannel).kind === 'here' && !this.#joined) sayHello();
    });
    sayHello();
    process.on('worker', (worker) => {
      const ended = worker.threadId;
      worker.once('exit', () => this.#say({ kind: 'ended', threadId: ended }));
    });
    process.on('exit', () => this.#sayTenantCalls());
  }

  /** The main thread writes from now on. */
  resume(): void {
    this.memory.interest.fill(0);
    Atomics.store(this.memory.state, STATE.own, 0);
    this.#say({ kind: 'released' });
  }

  /** The main thread does not write any more once this returns; it takes microseconds where it is writing. */
  pause(): void {
    const { state } = this.memory;
    Atomics.store(state, STATE.own, 1);
    for (;;) {
      const written = Atomics.load(state, STATE.written);
      if ((written & 1) === 0) return;
      Atomics.wait(state, STATE.written, written, 1);
    }
  }

  /** Takes over what the main thread said, also in a thread that never comes to its event loop. Returns whether it did. */
  catchUp(): boolean {
    const written = Atomics.load(this.memory.state, STATE.written);
    if (written === this.#seen) return false;
    this.#seen = written;
    for (;;) {
      const received = this.#threads.receiveMessageOnPort(this.#own as never);
      if (received === undefined) return true;
      this.#told(received.message as FromMain);
    }
  }

  get #joined(): boolean {
    return Atomics.load(this.memory.state, STATE.joined) === 1;
  }

  #open(name: string, listener: (message: unknown) => void): BroadcastChannel {
    const channel = new this.#threads.BroadcastChannel(name);
    channel.onmessage = (event) => listener(Reflect.get(Object(event), 'data'));
    channel.unref();
    return channel;
  }

  #told({ afresh, overrides, countsTenants, maxCategories }: FromMain): void {
    this.#common?.close();
    this.#common = undefined;
    this.#countsTenants = countsTenants;
    this.#maxCategories = maxCategories;
    if (afresh) this.#attachment?.forgetTenants();
    for (const [tenantId, index, on] of overrides) this.#attachment?.setTenant(tenantId, index, on);
  }

  /** On the channel that the main thread hears for certain: this thread may not come to its event loop for long. */
  #say(message: FromThread): void {
    if (this.#joined) {
      // Two channels keep no order between them, and what follows is of these.
      for (const registration of this.#early.splice(0)) this.#own.postMessage(registration);
      this.#own.postMessage(message);
      return;
    }
    this.#common?.postMessage({ kind: 'early', id: this.#id, message } satisfies OnCommonChannel);
    if (message.kind === 'registered') this.#early.push(message);
  }

  #registered({ index, name, description, defaultEnabled }: CategoryDescriptor): void {
    const { interest, base, state } = this.memory;
    const known = this.#inherited?.names.indexOf(name) ?? -1;
    // The main thread would say so in a moment; where it waits for this thread it cannot.
    if (known !== -1 && Atomics.load(state, STATE.own) === 0 && hasBit(this.#inherited!.on, known)) {
      writeSharedBit(base, index, true);
      writeSharedBit(interest, index, true);
    }
    this.#say({ kind: 'registered', index, name, description, enabled: defaultEnabled });
  }

  #emit(
    { index }: CategoryDescriptor,
    message: string,
    attributes: Given,
    tenantId: string | undefined,
    off: boolean,
  ): DropCode | undefined {
    const { state } = this.memory;
    if (tenantId !== undefined && this.#countsTenants && !off) this.#countTenant(tenantId, index);
    // Both wrap around after 2^31.
    if (((state[STATE.sent]! - Atomics.load(state, STATE.taken)) | 0) >= MAX_UNDERWAY) return DROP.thread;
    const given = evaluated(attributes);
    const record = { kind: 'record', index, off, tenantId, span: activeSpan() } as const;
    state[STATE.sent]! += 1;
    try {
      this.#say({ ...record, message, given });
    } catch {
      this.#say({ ...record, message: textOf(message), given: cloneable(given) });
    }
    this.#sayTenantCalls();
    return undefined;
  }

  #countTenant(tenantId: string, index: number): void {
    const calls = this.#tenantCalls.get(tenantId) ?? new Map<number, number>();
    this.#tenantCalls.set(tenantId, calls.set(index, (calls.get(index) ?? 0) + 1));
  }

  #sayTenantCalls(): void {
    if (this.#tenantCalls.size === 0) return;
    const calls = [...this.#tenantCalls].flatMap(([tenantId, byIndex]) =>
      [...byIndex].map(([index, times]): TenantCallsOf => [tenantId, index, times]),
    );
    this.#tenantCalls.clear();
    this.#say({ kind: 'tenantCalls', calls });
  }
}

type Given = Attributes | (() => Attributes) | undefined;

function evaluated(attributes: Given): GivenAttributes {
  if (typeof attributes !== 'function') return { value: attributes };
  try {
    const value: unknown = attributes();
    if (!(value instanceof Promise)) return { value };
    value.catch(() => undefined);
    return { asynchronous: true };
  } catch (thrown) {
    return { thrown };
  }
}

/** What cannot be sent to another thread, a function say, goes as its text. */
function cloneable(given: GivenAttributes): GivenAttributes {
  if ('thrown' in given) return { thrown: new Error(textOf(given.thrown)) };
  if ('asynchronous' in given || typeof given.value !== 'object' || given.value === null) return given;
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(given.value)) {
    const read = () => Reflect.get(given.value as object, name);
    try {
      values[name] = structuredClone(read());
    } catch {
      values[name] = textOf(read);
    }
  }
  return { value: values };
}

/** @param value also a function that gives it */
function textOf(value: unknown): string {
  try {
    const text: unknown = typeof value === 'function' ? value() : value;
    return typeof text === 'object' ? JSON.stringify(text) : String(text);
  } catch {
    return 'a value that cannot be shown';
  }
}
