import type { BroadcastChannel } from 'node:worker_threads';
import type { ControllerAttachment } from './attachment.ts';
import { CAPACITY, hasBit } from './bits.ts';
import type { GateCore } from './core.ts';
import { DROP, type DropCode } from './drops.ts';
import { LEVEL } from './levels.ts';
import { createBuffers, type GateMemory, STATE, viewMemory, writeSharedBit } from './memory.ts';
import { activeSpan } from './span-context.ts';
import {
  type FromMain,
  type FromThread,
  type GivenAttributes,
  type Inheritance,
  type OnCommonChannel,
  type Registration,
  THREADS,
} from './thread-messages.ts';
import type { CallAttributes, CategoryDescriptor, Controller, Sink } from './types.ts';

/** Maximum number of records in flight to the main thread. A thread drops and counts records beyond it. */
const MAX_IN_FLIGHT = 1000;

type Threads = typeof import('node:worker_threads');

/** Controls the gate of a worker thread as the main thread's gate says, and sends its calls there. */
export class ThreadLink implements Controller {
  readonly memory: GateMemory;
  readonly sink: Sink = {
    emit: (category, message, given, tenantId) => this.#emit(category, message, given, tenantId, false),
    tapped: () => true,
    tap: ({ category, message, given, tenantId, level }) => {
      this.#emit(category, message, given, tenantId, true, level);
      return undefined;
    },
    // Budgets and taps are in the main thread; a line that is written here cannot wait for them.
    pass: (category, { describe, given = [] }, tenantId) => {
      if (!hasBit(this.memory.tapped, category.index)) return undefined;
      try {
        const described = describe(given);
        if (described !== undefined) this.#emit(category, described.message, described.attributes, tenantId, true);
        return undefined;
      } catch (error) {
        return { error };
      }
    },
    // The main thread cannot create a span in this thread.
    span: (_category, _name, fn) => fn(),
  };
  maxCategories = CAPACITY;
  /** Whether a control plane of the main thread is enabled, as far as this thread has heard. */
  controlled: boolean;
  readonly #buffers = createBuffers(SharedArrayBuffer);
  readonly #threads: Threads;
  readonly #inherited: Inheritance | undefined;
  readonly #own: BroadcastChannel;
  readonly #id: string;
  /** Registrations made before the main thread subscribed to this thread's channel. */
  readonly #early: Registration[] = [];
  #common: BroadcastChannel | undefined;
  #attachment: ControllerAttachment | undefined;
  #core: GateCore | undefined;

  constructor(threads: Threads) {
    this.#threads = threads;
    this.#inherited = threads.getEnvironmentData(THREADS) as unknown as Inheritance | undefined;
    this.controlled = this.#inherited !== undefined;
    this.memory = viewMemory(this.#buffers);
    this.#id = `${THREADS}.${threads.threadId}.${globalThis.crypto.randomUUID()}`;
    this.#own = this.#open(this.#id, (message) => this.#onMessage(message as FromMain));
  }

  registered({ index, name, description, defaultEnabled }: CategoryDescriptor): void {
    const { interest, base, state, levels, leastLevels } = this.memory;
    const known = this.#inherited?.names.indexOf(name) ?? -1;
    // Applies the inherited state at once: the main thread may be blocked waiting for this thread.
    const on = known === -1 ? this.#inherited !== undefined && defaultEnabled : hasBit(this.#inherited!.on, known);
    if (on && Atomics.load(state, STATE.own) === 0) {
      const level = this.#inherited?.levels[known] ?? 0;
      levels[index] = level;
      leastLevels[index] = level;
      writeSharedBit(base, index, true);
      writeSharedBit(interest, index, true);
    }
    this.#send({ kind: 'registered', index, name, description, enabled: defaultEnabled });
  }

  failed({ index }: CategoryDescriptor, error: unknown): void {
    this.#send({ kind: 'failed', index, reason: textOf(() => (error instanceof Error ? error.message : error)) });
  }

  /** Announces this thread to the main thread, now and when the main thread starts later. */
  start(core: GateCore): void {
    this.#core = core;
    this.#attachment = core.follow(this);
    const { threadId, setEnvironmentData } = this.#threads;
    const ancestors = this.#inherited?.ancestors ?? [];
    if (this.#inherited !== undefined) {
      setEnvironmentData(THREADS, { ...this.#inherited, ancestors: [...ancestors, threadId] } as never);
    }
    const announce = () => {
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
      if ((message as OnCommonChannel).kind === 'here' && !this.#joined) announce();
    });
    announce();
    process.on('worker', (worker) => {
      const ended = worker.threadId;
      worker.once('exit', () => this.#send({ kind: 'ended', threadId: ended }));
    });
  }

  /** Hands the memory back to the main thread. */
  resume(): void {
    this.memory.interest.fill(0);
    Atomics.store(this.memory.state, STATE.own, 0);
    this.#send({ kind: 'released' });
  }

  /** Stops writes of the main thread. One that is in progress ends within microseconds. */
  pause(): void {
    const { state } = this.memory;
    Atomics.store(state, STATE.own, 1);
    while (Atomics.load(state, STATE.writing) === 1);
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

  #onMessage({ afresh, overrides, maxCategories, controlled }: FromMain): void {
    this.#common?.close();
    this.#common = undefined;
    this.maxCategories = maxCategories;
    this.controlled = controlled;
    if (afresh) this.#attachment?.clearOverrides();
    for (const [tenantId, index, own] of overrides) {
      this.#attachment?.setTenant(tenantId, index, own?.on, own?.level);
    }
    this.#core?.bitsWritten();
  }

  /** Sends on the shared channel until the main thread has subscribed to this thread's own: nothing here waits for events. */
  #send(message: FromThread): void {
    if (this.#joined) {
      // Order between two channels is not guaranteed: registrations go first on the own channel.
      for (const registration of this.#early.splice(0)) this.#own.postMessage(registration);
      this.#own.postMessage(message);
      return;
    }
    this.#common?.postMessage({ kind: 'early', id: this.#id, message } satisfies OnCommonChannel);
    if (message.kind === 'registered') this.#early.push(message);
  }

  #emit(
    { index }: CategoryDescriptor,
    message: string,
    attributes: CallAttributes,
    tenantId: string | undefined,
    off: boolean,
    level: number = LEVEL.debug,
  ): DropCode | undefined {
    const { state } = this.memory;
    // Both counters wrap around at 2^31.
    if (((state[STATE.sent]! - Atomics.load(state, STATE.taken)) | 0) >= MAX_IN_FLIGHT) return DROP.thread;
    const given = evaluate(attributes);
    const work = this.#core?.work.current()?.attributes;
    const record = { kind: 'record', index, off, level, tenantId, span: activeSpan(), work } as const;
    state[STATE.sent]! += 1;
    try {
      this.#send({ ...record, message, given });
    } catch {
      this.#send({ ...record, message: textOf(message), given: toCloneable(given) });
    }
    return undefined;
  }
}

function evaluate(attributes: CallAttributes): GivenAttributes {
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

/** Returns a copy in which values that cannot be cloned, such as functions, are text. */
function toCloneable(given: GivenAttributes): GivenAttributes {
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

/** @param value a value, or a function that returns it */
function textOf(value: unknown): string {
  try {
    const text: unknown = typeof value === 'function' ? value() : value;
    return typeof text === 'object' ? JSON.stringify(text) : String(text);
  } catch {
    return 'a value that cannot be shown';
  }
}
