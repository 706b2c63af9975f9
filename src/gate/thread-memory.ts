import { CAPACITY } from './bits.ts';
import { DROP_SLOTS } from './drops.ts';

// What the main thread and a worker thread have in common. The thread makes the memory; the main thread writes the bits,
// the thread its counts, so that each has one writer and a check stays one plain load. Plain loads of shared memory see
// a write of the other thread within microseconds; only a loop that V8 compiled and that calls nothing at all could keep
// an old value in a register, and a debug point calls.

/** Begins the names of channels and keys. Another one for each version of what is said there. */
export const THREADS = 'opentelemetry-instrumentation-rdcp.threads.v2';

const WORDS = CAPACITY >>> 5;

/** Numbers at the beginning of the bits. */
export const STATE = {
  /** Counts up before and after the main thread writes; odd meanwhile. */
  written: 0,
  /** 1 while something in the thread controls its gate: the main thread writes nothing then. */
  own: 1,
  /** 1 once the main thread hears the thread's channel. */
  joined: 2,
  /** Records sent by the thread, and taken by the main thread. */
  sent: 3,
  taken: 4,
} as const;
const STATES = 8;

/** Where a gate keeps what it reads and counts. */
export interface GateMemory {
  readonly interest: Uint32Array;
  readonly tenanted: Uint32Array;
  readonly base: Uint32Array;
  readonly tapped: Uint32Array;
  readonly calls: Float64Array;
  /** By reason: `drops.ts`. */
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
    bits: new SharedArrayBuffer(4 * (STATES + 4 * WORDS)),
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
    calls: new Float64Array(counts, 0, CAPACITY),
    dropped: new Float64Array(counts, 8 * CAPACITY, DROP_SLOTS),
  };
}

/** Both threads may write a word at once, each another bit of it. */
export function writeSharedBit(bits: Uint32Array, index: number, on: boolean): void {
  const mask = 1 << (index & 31);
  if (on) Atomics.or(bits, index >>> 5, mask);
  else Atomics.and(bits, index >>> 5, ~mask);
}

/** What each new thread is given when it is made (`setEnvironmentData`). */
export interface Inheritance {
  /** Names of the main thread's categories, by index. */
  readonly names: readonly string[];
  /** What is on for everybody there, by that index; shared. */
  readonly on: Uint32Array;
  /** Threads that made this one, outermost first. */
  readonly ancestors: readonly number[];
}

/** Ids of the active span, as OpenTelemetry has them. */
export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

/** An override of a tenant, by the thread's index; `undefined` where there is none any more. */
export type Override = readonly [tenantId: string, index: number, on: boolean | undefined];
/** Calls in a tenant's context, by the thread's index. */
export type TenantCallsOf = readonly [tenantId: string, index: number, calls: number];

export interface Registration {
  readonly kind: 'registered';
  /** In the thread. */
  readonly index: number;
  readonly name: string;
  readonly description: string;
  readonly enabled: boolean;
}

/** What the attributes of a call were, or what the function for them came to. */
export type GivenAttributes =
  | { readonly value: unknown }
  | { readonly thrown: unknown }
  | { readonly asynchronous: true };

/** A debug call, counted already where it is on. */
export interface ThreadRecord {
  readonly kind: 'record';
  /** Off in the thread: it is for taps alone. */
  readonly off: boolean;
  /** In the thread. */
  readonly index: number;
  readonly message: string;
  readonly given: GivenAttributes;
  readonly tenantId: string | undefined;
  readonly span: SpanIds | undefined;
}

/** What a thread says on its own channel. */
export type FromThread =
  | Registration
  | ThreadRecord
  | { readonly kind: 'tenantCalls'; readonly calls: readonly TenantCallsOf[] }
  /** An attribute function or the like threw. */
  | { readonly kind: 'failed'; readonly index: number; readonly reason: string }
  /** Nothing in the thread controls its gate any more. */
  | { readonly kind: 'released' }
  /** A thread that it made has ended. */
  | { readonly kind: 'ended'; readonly threadId: number };

/** What the main thread says there. */
export interface FromMain {
  /** Forget every override first. */
  readonly afresh: boolean;
  readonly overrides: readonly Override[];
  readonly countsTenants: boolean;
  readonly maxCategories: number;
}

/** What is said on the channel that all threads share. */
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
  /** What a thread says before it knows that its own channel is heard. */
  | { readonly kind: 'early'; readonly id: string; readonly message: FromThread };
