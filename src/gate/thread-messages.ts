import type { Override as OwnState } from './attachment.ts';
import type { MemoryBuffers } from './memory.ts';

/** Prefix of channel names and keys. Its version changes with the messages. */
export const THREADS = 'opentelemetry-instrumentation-rdcp.threads.v4';

/** State that each new thread gets at its creation (`setEnvironmentData`). */
export interface Inheritance {
  /** Names of the main thread's categories, by index. */
  readonly names: readonly string[];
  /** Categories that are on globally, by that index. Shared memory. */
  readonly on: Uint32Array;
  /** The least urgent level of those that have one, by that index. Shared memory. */
  readonly levels: Uint8Array;
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
export type Override = readonly [tenantId: string, index: number, own: OwnState | undefined];

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
  /** The level of the line. */
  readonly level: number;
  /** The thread's index. */
  readonly index: number;
  readonly message: string;
  readonly given: GivenAttributes;
  readonly tenantId: string | undefined;
  readonly span: SpanIds | undefined;
  /** Attributes of the work that made the call. */
  readonly work: ReadonlyMap<string, string> | undefined;
}

/** Messages of a thread on its own channel. */
export type FromThread =
  | Registration
  | ThreadRecord
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
      readonly buffers: MemoryBuffers;
      readonly registered: readonly Registration[];
    }
  /** A thread's message before the main thread has subscribed to its own channel. */
  | { readonly kind: 'early'; readonly id: string; readonly message: FromThread };
