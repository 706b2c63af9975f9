import type { BroadcastChannel, Worker } from 'node:worker_threads';
import type { Override as OwnState } from './attachment.ts';
import { CAPACITY, createBits, hasBit } from './bits.ts';
import type { GateCore } from './core.ts';
import { DROP_SLOTS, type DropReason, dropsOf } from './drops.ts';
import { type GateMemory, STATE, viewMemory, writeSharedBit } from './memory.ts';
import { withSpan } from './span-context.ts';
import {
  type FromMain,
  type FromThread,
  type GivenAttributes,
  type Inheritance,
  type OnCommonChannel,
  type Override,
  type Registration,
  THREADS,
  type ThreadRecord,
} from './thread-messages.ts';
import type { Attributes, CallAttributes } from './types.ts';

type Threads = typeof import('node:worker_threads');

/** One worker thread that follows the main thread's gate. */
interface Follower {
  readonly id: string;
  readonly threadId: number;
  readonly ancestors: readonly number[];
  readonly memory: GateMemory;
  readonly channel: BroadcastChannel;
  /** Category indexes of the main thread by the thread's, and the reverse. */
  readonly localIndexes: number[];
  readonly threadIndexes: Map<number, number>;
  /** Whether a message about changed bits will be sent at the end of this turn. */
  notifying: boolean;
}

/** The worker threads that follow the gate of the main thread. */
export class ThreadHost {
  readonly #threads: Threads;
  readonly #core: GateCore;
  readonly #followers = new Set<Follower>();
  readonly #names: string[] = [];
  readonly #on: Uint32Array = new Uint32Array(new SharedArrayBuffer(createBits().byteLength));
  readonly #levels = new Uint8Array(new SharedArrayBuffer(CAPACITY));
  /** Calls of threads that ended. */
  readonly #calls = new Float64Array(CAPACITY);
  readonly #dropped = new Float64Array(DROP_SLOTS);

  constructor(threads: Threads, core: GateCore) {
    this.#threads = threads;
    this.#core = core;
    const inheritance: Inheritance = {
      names: this.#names,
      on: this.#on,
      levels: this.#levels,
      ancestors: [],
    };
    // Each new thread gets a copy of the names at its start.
    threads.setEnvironmentData(THREADS, inheritance as never);
    const common = new threads.BroadcastChannel(THREADS);
    common.onmessage = (event) => this.#onCommonMessage(dataOf(event) as OnCommonChannel);
    common.unref();
    common.postMessage({ kind: 'here' } satisfies OnCommonChannel);
    process.on('worker', (worker) => this.#watchExit(worker));
    this.registered();
    for (let word = 0; word < this.#on.length; word++) this.applied(word);
  }

  /** Adds new categories of the main thread to what new threads inherit. */
  registered(): void {
    for (const { name } of this.#core.categories().slice(this.#names.length)) this.#names.push(name);
  }

  /** Copies the bits of one word to every thread. */
  applied(word: number): void {
    this.#on[word] = this.#core.memory.interest[word]! & this.#core.memory.base[word]!;
    for (let index = word << 5; index < (word + 1) << 5; index++)
      this.#levels[index] = this.#core.memory.levels[index]!;
    for (const follower of this.#followers) {
      this.#write(follower, () => {
        for (let index = word << 5; index < (word + 1) << 5; index++) this.#writeBits(follower, index);
      });
    }
  }

  /** Sends a changed override to every thread. {@link ThreadHost.applied} follows. */
  overridden(tenantId: string, index: number, own: OwnState | undefined): void {
    for (const follower of this.#followers) {
      const threadIndex = follower.threadIndexes.get(index);
      if (threadIndex !== undefined) this.#sendOverrides(follower, [[tenantId, threadIndex, own]]);
    }
  }

  /** Sends the complete state to every thread after the active control plane changed. */
  replaced(): void {
    for (const follower of this.#followers) this.#sendState(follower);
  }

  callsTotal(index: number): number {
    return this.#total(index, this.#calls[index] ?? 0, ({ calls }, threadIndex) => calls[threadIndex]!);
  }

  droppedTotal(index: number, reason?: DropReason): number {
    const ended = dropsOf(this.#dropped, index, reason);
    return this.#total(index, ended, ({ dropped }, threadIndex) => dropsOf(dropped, threadIndex, reason));
  }

  #total(index: number, ended: number, countOf: (memory: GateMemory, threadIndex: number) => number): number {
    let total = ended;
    for (const { threadIndexes, memory } of this.#followers) {
      const at = threadIndexes.get(index);
      if (at !== undefined) total += countOf(memory, at);
    }
    return total;
  }

  #onCommonMessage(message: OnCommonChannel): void {
    if (message.kind === 'hello') this.#join(message);
    if (message.kind !== 'early') return;
    for (const follower of this.#followers) if (follower.id === message.id) this.#receive(follower, message.message);
  }

  #join({ id, threadId, ancestors, buffers, registered }: OnCommonChannel & { kind: 'hello' }): void {
    for (const follower of this.#followers) if (follower.id === id) return;
    const channel = new this.#threads.BroadcastChannel(id);
    const memory = viewMemory(buffers);
    const follower: Follower = {
      id,
      threadId,
      ancestors,
      memory,
      channel,
      localIndexes: [],
      threadIndexes: new Map(),
      notifying: false,
    };
    channel.onmessage = (event) => this.#receive(follower, dataOf(event) as FromThread);
    channel.unref();
    this.#followers.add(follower);
    Atomics.store(memory.state, STATE.joined, 1);
    for (const registration of registered) this.#register(follower, registration);
    this.#sendState(follower);
  }

  #receive(follower: Follower, message: FromThread): void {
    if (message.kind === 'registered') this.#register(follower, message);
    else if (message.kind === 'record') this.#emit(follower, message);
    else if (message.kind === 'failed') this.#failed(follower, message.index, message.reason);
    else if (message.kind === 'released') this.#sendState(follower);
    else this.#ended(message.threadId);
  }

  #emit(
    { memory, localIndexes }: Follower,
    { index: threadIndex, message, given, tenantId, span, work, off, level }: ThreadRecord,
  ): void {
    Atomics.add(memory.state, STATE.taken, 1);
    const category = this.#core.categories()[localIndexes[threadIndex] ?? -1];
    if (category === undefined) return;
    const call = { category, message, given: attributesOf(given), tenantId, level };
    const emit = () => this.#core.calls.emitForThread(call, !off);
    withSpan(span, () => this.#core.work.runWith(work, emit));
  }

  #register(follower: Follower, { index: threadIndex, name, description, enabled }: Registration): void {
    let index: number;
    try {
      this.#core.category(name, { description, ...(enabled && { enabled }) });
      index = this.#core.registry.indexOf(name);
    } catch (error) {
      process.emitWarning(error instanceof Error ? error.message : String(error), 'RdcpWarning');
      return;
    }
    follower.localIndexes[threadIndex] = index;
    follower.threadIndexes.set(index, threadIndex);
    this.#write(follower, () => this.#writeBits(follower, index));
    if (!hasBit(this.#core.memory.tenanted, index)) return;
    const overrides = [...this.#core.overrides()].filter(([, overridden]) => overridden === index);
    this.#sendOverrides(
      follower,
      overrides.map(([tenantId, , own]) => [tenantId, threadIndex, own]),
    );
  }

  #failed({ localIndexes }: Follower, threadIndex: number, reason: string): void {
    const index = localIndexes[threadIndex];
    if (index !== undefined) this.#core.failed(index, new Error(`in a worker thread: ${reason}`));
  }

  #writeBits({ memory, threadIndexes }: Follower, index: number): void {
    const at = threadIndexes.get(index);
    if (at === undefined) return;
    const { interest, tenanted, base, tapped, recorded, settled, levels, leastLevels } = this.#core.memory;
    memory.levels[at] = levels[index]!;
    memory.leastLevels[at] = leastLevels[index]!;
    writeSharedBit(memory.base, at, hasBit(base, index));
    writeSharedBit(memory.tenanted, at, hasBit(tenanted, index));
    writeSharedBit(memory.tapped, at, hasBit(tapped, index));
    writeSharedBit(memory.settled, at, hasBit(settled, index));
    // The work that a call in a thread belongs to is not followed, so nothing is recorded there.
    const isOnlyRecorded = hasBit(recorded, index) && ![base, tenanted, tapped].some((bits) => hasBit(bits, index));
    writeSharedBit(memory.interest, at, hasBit(interest, index) && !isOnlyRecorded);
  }

  #sendState(follower: Follower): void {
    const overrides = [...this.#core.overrides()].flatMap(([tenantId, index, own]): Override[] => {
      const threadIndex = follower.threadIndexes.get(index);
      return threadIndex === undefined ? [] : [[tenantId, threadIndex, own]];
    });
    this.#sendOverrides(follower, overrides, true);
    this.#write(follower, () => {
      for (const index of follower.threadIndexes.keys()) this.#writeBits(follower, index);
    });
  }

  /** Writes to a thread's memory, unless a control plane of the thread controls its gate, and sends one message a turn. */
  #write(follower: Follower, work: () => void): void {
    const { state } = follower.memory;
    Atomics.store(state, STATE.writing, 1);
    if (Atomics.load(state, STATE.own) === 0) work();
    Atomics.store(state, STATE.writing, 0);
    if (follower.notifying) return;
    follower.notifying = true;
    queueMicrotask(() => {
      follower.notifying = false;
      if (this.#followers.has(follower)) this.#sendOverrides(follower, []);
    });
  }

  #sendOverrides({ channel }: Follower, overrides: readonly Override[], afresh = false): void {
    const { maxCategories, controlled } = this.#core;
    channel.postMessage({ afresh, overrides, maxCategories, controlled } satisfies FromMain);
  }

  #watchExit(worker: Worker): void {
    const { threadId } = worker;
    worker.once('exit', () => this.#ended(threadId));
  }

  /** Removes a thread, and the threads that it created, which end with it. */
  #ended(threadId: number): void {
    for (const follower of this.#followers) {
      if (follower.threadId !== threadId && !follower.ancestors.includes(threadId)) continue;
      // Its last messages may still be queued.
      for (;;) {
        const received = this.#threads.receiveMessageOnPort(follower.channel as never);
        if (received === undefined) break;
        this.#receive(follower, received.message as FromThread);
      }
      follower.channel.close();
      this.#followers.delete(follower);
      for (const [threadIndex, index] of follower.localIndexes.entries()) {
        this.#calls[index]! += follower.memory.calls[threadIndex]!;
        for (let slots = 0; slots < DROP_SLOTS; slots += CAPACITY)
          this.#dropped[slots + index]! += follower.memory.dropped[slots + threadIndex]!;
      }
    }
  }
}

/** Returns attributes that behave here as the original ones did in the thread. */
function attributesOf(given: GivenAttributes): CallAttributes {
  if ('value' in given) return given.value as Attributes | undefined;
  if ('asynchronous' in given) return (async () => ({})) as unknown as () => Attributes;
  return () => {
    throw given.thrown;
  };
}

function dataOf(event: unknown): unknown {
  return Reflect.get(Object(event), 'data');
}
