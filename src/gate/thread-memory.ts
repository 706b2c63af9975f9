import { CAPACITY } from './bits.ts';
import { DROP_SLOTS } from './drops.ts';

// Memory shared by the main thread and a worker thread. The worker allocates it; the main thread writes the bits and the
// worker writes its counts, so that each part has one writer and a check stays one plain load. A plain load sees a write
// of the other thread within microseconds. Only a compiled loop without any call could keep an old value in a register,
// and a debug point is a call.

/** Prefix of channel names and keys. Its version changes with the messages. */
export const THREADS = 'opentelemetry-instrumentation-rdcp.threads.v2';

const WORDS = CAPACITY >>> 5;

/** Positions of the counters and flags at the start of the shared bits. */
export const STATE = {
  /** Incremented before and after each write of the main thread; odd during a write. */
  written: 0,
  /** 1 while a control plane in the thread controls its gate: the main thread does not write then. */
  own: 1,
  /** 1 once the main thread has subscribed to the thread's channel. */
  joined: 2,
  /** Records sent by the thread, and received by the main thread. */
  sent: 3,
  taken: 4,
  /** 1 once the thread wants a message after each change of its bits. */
  watches: 5,
} as const;
const STATES = 8;

/** Bits and counters of a gate. */
export interface GateMemory {
  readonly interest: Uint32Array;
  readonly tenanted: Uint32Array;
  readonly base: Uint32Array;
  readonly tapped: Uint32Array;
  readonly settled: Uint32Array;
  readonly calls: Float64Array;
  /** By reason and category (`drops.ts`). */
  readonly dropped: Float64Array;
}

export interface ThreadMemory extends GateMemory {
  readonly state: Int32Array;
}

export interface ThreadBuffers {
  readonly bits: SharedArrayBuffer;
  readonly counts: SharedArrayBuffer;
}

export function createThreadBuffers(): ThreadBuffers {
  return {
    bits: new SharedArrayBuffer(4 * (STATES + 5 * WORDS)),
    counts: new SharedArrayBuffer(8 * (CAPACITY + DROP_SLOTS)),
  };
}

export function viewThread({ bits, counts }: ThreadBuffers): ThreadMemory {
  const words = (part: number) => new Uint32Array(bits, 4 * (STATES + part * WORDS), WORDS);
  return {
    state: new Int32Array(bits, 0, STATES),
    interest: words(0),
    tenanted: words(1),
    base: words(2),
    tapped: words(3),
    settled: words(4),
    calls: new Float64Array(counts, 0, CAPACITY),
    dropped: new Float64Array(counts, 8 * CAPACITY, DROP_SLOTS),
  };
}

/** Writes one bit atomically: both threads may write different bits of one word at the same time. */
export function writeSharedBit(bits: Uint32Array, index: number, on: boolean): void {
  const mask = 1 << (index & 31);
  if (on) Atomics.or(bits, index >>> 5, mask);
  else Atomics.and(bits, index >>> 5, ~mask);
}

/** State that each new thread gets at its creation (`setEnvironmentData`). */
export interface Inheritance {
  /** Names of the main thread's categories, by index. */
  readonly names: readonly string[];
  /** Categories that are on globally, by that index. Shared memory. */
  readonly on: Uint32Array;
  /** Ids of the threads that created this one, outermost first. */
  readonly ancestors: readonly number[];
}

/** Ids of the active span, as in OpenTelemetry. */
export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

/** A tenant's override, by the thread's index; `undefined` removes it. */
export type Override = readonly [tenantId: string, index: number, on: boolean | undefined];
/** Calls in a tenant's context, by the thread's index. */
export type TenantCallsOf = readonly [tenantId: string, index: number, calls: number];

export interface Registration {
  readonly kind: 'registered';
  /** The thread's index. */
  readonly index: number;
  readonly name: string;
  readonly description: string;
  readonly enabled: boolean;
}

/** Evaluated attributes of a call: a value, an error, or an asynchronous function. */
export type GivenAttributes =
  | { readonly value: unknown }
  | { readonly thrown: unknown }
  | { readonly asynchronous: true };

/** A debug call. The thread has counted it if the category is on. */
export interface ThreadRecord {
  readonly kind: 'record';
  /** Whether the category is off in the thread. Then only taps get the call. */
  readonly off: boolean;
  /** The thread's index. */
  readonly index: number;
  readonly message: string;
  readonly given: GivenAttributes;
  readonly tenantId: string | undefined;
  readonly span: SpanIds | undefined;
}

/** Messages of a thread on its own channel. */
export type FromThread =
  | Registration
  | ThreadRecord
  | { readonly kind: 'tenantCalls'; readonly calls: readonly TenantCallsOf[] }
  /** An attribute function or a hook threw. */
  | { readonly kind: 'failed'; readonly index: number; readonly reason: string }
  /** The thread's last control plane detached. */
  | { readonly kind: 'released' }
  /** A thread that it created has ended. */
  | { readonly kind: 'ended'; readonly threadId: number };

/** Messages of the main thread on that channel. */
export interface FromMain {
  /** Drop every earlier override first. */
  readonly afresh: boolean;
  readonly overrides: readonly Override[];
  readonly countsTenants: boolean;
  readonly maxCategories: number;
  /** Whether a control plane of the main thread is enabled. */
  readonly controlled: boolean;
}

/** Messages on the channel that all threads share. */
export type OnCommonChannel =
  | { readonly kind: 'here' }
  | {
      readonly kind: 'hello';
      /** Names the thread's own channel. */
      readonly id: string;
      readonly threadId: number;
      readonly ancestors: readonly number[];
      readonly buffers: ThreadBuffers;
      readonly registered: readonly Registration[];
    }
  /** A thread's message before the main thread has subscribed to its own channel. */
  | { readonly kind: 'early'; readonly id: string; readonly message: FromThread };
