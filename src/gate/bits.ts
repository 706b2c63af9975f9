/** Maximum number of categories per process. Arrays are never reallocated, so a handle keeps its array, word and mask. */
export const CAPACITY = 4096;

/** One bit per category: word `index >>> 5`, mask `1 << (index & 31)`. */
export function createBits(): Uint32Array {
  return new Uint32Array(CAPACITY >>> 5);
}

export function hasBit(bits: Uint32Array, index: number): boolean {
  return (bits[index >>> 5]! & (1 << (index & 31))) !== 0;
}

export function writeBit(bits: Uint32Array, index: number, on: boolean): void {
  const mask = 1 << (index & 31);
  if (on) bits[index >>> 5]! |= mask;
  else bits[index >>> 5]! &= ~mask;
}
