import { CAPACITY, createBits } from './bits.ts';
import { DROP_SLOTS } from './drops.ts';

// A worker thread shares its memory with the main thread, which writes the bits, while the worker writes its counts: each
// part has one writer, and a check stays one plain load. A plain load sees a write
// of the other thread within microseconds. Only a compiled loop without any call could keep an old value in a register,
// and a debug point is a call.

const WORDS = CAPACITY >>> 5;

/** Positions in {@link GateMemory.state}. */
export const STATE = {
  /** 1 while the main thread writes. */
  writing: 0,
  /** 1 while a control plane in the thread controls its gate: the main thread does not write then. */
  own: 1,
  /** 1 once the main thread has subscribed to the thread's channel. */
  joined: 2,
  /** Records sent by the thread, and received by the main thread. */
  sent: 3,
  taken: 4,
} as const;
const STATES = 8;
/** Where the levels begin, in bytes. */
const LEVELS_AT = 4 * (STATES + 5 * WORDS);

/** Bits and counters of a gate. */
export interface GateMemory {
  /** Used between threads: see {@link STATE}. */
  readonly state: Int32Array;
  readonly interest: Uint32Array;
  readonly tenanted: Uint32Array;
  readonly base: Uint32Array;
  readonly tapped: Uint32Array;
  /** Categories whose calls are recorded in the main thread; none in a worker thread. */
  readonly recorded: Uint32Array;
  readonly settled: Uint32Array;
  /** By category, the level of the base, and the least of all that any tenant or the base has (`levels.ts`). */
  readonly levels: Uint8Array;
  readonly leastLevels: Uint8Array;
  readonly calls: Float64Array;
  /** A count for each reason and category (`drops.ts`). */
  readonly dropped: Float64Array;
}

export interface MemoryBuffers {
  readonly bits: ArrayBufferLike;
  readonly counts: ArrayBufferLike;
}

/** @param Buffer `SharedArrayBuffer` in a worker thread, `ArrayBuffer` in the main thread */
export function createBuffers(Buffer: new (bytes: number) => ArrayBufferLike): MemoryBuffers {
  return {
    bits: new Buffer(LEVELS_AT + 2 * CAPACITY),
    counts: new Buffer(8 * (CAPACITY + DROP_SLOTS)),
  };
}

export function viewMemory({ bits, counts }: MemoryBuffers): GateMemory {
  const words = (part: number) => new Uint32Array(bits, 4 * (STATES + part * WORDS), WORDS);
  return {
    state: new Int32Array(bits, 0, STATES),
    interest: words(0),
    tenanted: words(1),
    base: words(2),
    tapped: words(3),
    settled: words(4),
    recorded: createBits(),
    levels: new Uint8Array(bits, LEVELS_AT, CAPACITY),
    leastLevels: new Uint8Array(bits, LEVELS_AT + CAPACITY, CAPACITY),
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
