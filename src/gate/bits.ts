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

// One tenant's overrides, packed into a string: V8's smallest array, 16 bytes plus two per code unit, where a typed array
// takes 200 before its first element. This bounds the memory of 100,000 tenants. Active tenants also have a bitset (see
// withOverrides). In this file because each additional file delays the import of the api.
//
// Few overrides are a sorted list of `index << 1 | on`. Many are a bitmap after a marker: two bits per category, eight
// categories per code unit, cut after the last override. The shorter form is used.

export type PackedOverrides = string;

/** Two bits: overridden, and on. */
const INHERITED = 0;
const OVERRIDDEN = 2;

/** Marks a bitmap. No list starts with it: the highest index is 4095. */
const BITMAP = 0xffff;

/** Returns the tenant's override of a category, or `undefined`. */
export function readOverride(packed: PackedOverrides, index: number): boolean | undefined {
  if (packed.charCodeAt(0) === BITMAP) {
    const state = (packed.charCodeAt(1 + (index >>> 3)) >>> ((index & 7) << 1)) & 3;
    return state === INHERITED ? undefined : state !== OVERRIDDEN;
  }
  for (let at = 0; at < packed.length; at++) {
    const entry = packed.charCodeAt(at);
    if (entry >>> 1 === index) return (entry & 1) === 1;
  }
  return undefined;
}

/** Returns the overrides with one set (or removed, for `undefined`); `undefined` when none is left. */
export function withOverride(
  packed: PackedOverrides | undefined,
  index: number,
  on: boolean | undefined,
): PackedOverrides | undefined {
  const entries = packed === undefined ? [] : unpack(packed);
  const found = entries.findIndex((entry) => entry >>> 1 >= index);
  const at = found === -1 ? entries.length : found;
  const replaced = at < entries.length && entries[at]! >>> 1 === index ? 1 : 0;
  if (on === undefined) entries.splice(at, replaced);
  else entries.splice(at, replaced, (index << 1) | Number(on));
  return entries.length === 0 ? undefined : pack(entries);
}

/** Returns the sorted list of `index << 1 | on`, from either form. */
export function unpack(packed: PackedOverrides): number[] {
  const entries: number[] = [];
  if (packed.charCodeAt(0) !== BITMAP) {
    for (let at = 0; at < packed.length; at++) entries.push(packed.charCodeAt(at));
    return entries;
  }
  for (let unit = 1; unit < packed.length; unit++) {
    const states = packed.charCodeAt(unit);
    for (let offset = 0; offset < 8; offset++) {
      const state = (states >>> (offset << 1)) & 3;
      if (state !== INHERITED) entries.push((((unit - 1) * 8 + offset) << 1) | (state & 1));
    }
  }
  return entries;
}

function pack(entries: readonly number[]): PackedOverrides {
  const units = 2 + (entries[entries.length - 1]! >>> 4);
  if (entries.length <= units) return String.fromCharCode(...entries);
  const bitmap = new Uint16Array(units);
  bitmap[0] = BITMAP;
  for (const entry of entries) {
    bitmap[1 + (entry >>> 4)]! |= (OVERRIDDEN | (entry & 1)) << (((entry >>> 1) & 7) * 2);
  }
  return String.fromCharCode(...bitmap);
}

/** Returns the tenant's bitset: the base with the tenant's overrides applied. */
export function withOverrides(base: Uint32Array, packed: PackedOverrides): Uint32Array {
  const words = base.slice();
  for (const entry of unpack(packed)) writeBit(words, entry >>> 1, (entry & 1) === 1);
  return words;
}
