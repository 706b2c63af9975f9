// One tenant's overrides, packed into a string. A string is the smallest array that V8 has (16 bytes and two per code
// unit, where a typed array takes 200 before its first element), is collected by itself, and cannot change under a
// context that holds it. With 100,000 tenants that is what decides the memory of the process.
//
// Few overrides are a sorted list of `index << 1 | on`. Many are a bitmap behind a mark: two bits per category, eight
// categories per code unit, cut after the last override.

export type Overrides = string;

/** What {@link readOverride} finds: two bits, overridden and on. */
export const INHERITED = 0;
export const OVERRIDDEN_OFF = 2;
export const OVERRIDDEN_ON = 3;

/** Longest list: five steps of a binary search, which stays small beside reading the async context. */
export const LONGEST_LIST = 32;

/** No list starts with it: the highest index is 4095. */
const BITMAP = 0xffff;

export function readOverride(overrides: Overrides, index: number): number {
  if (overrides.charCodeAt(0) === BITMAP) {
    const unit = 1 + (index >>> 3);
    return unit < overrides.length ? (overrides.charCodeAt(unit) >>> ((index & 7) << 1)) & 3 : INHERITED;
  }
  let low = 0;
  let high = overrides.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const entry = overrides.charCodeAt(middle);
    const found = entry >>> 1;
    if (found === index) return OVERRIDDEN_OFF | (entry & 1);
    if (found < index) low = middle + 1;
    else high = middle - 1;
  }
  return INHERITED;
}

/** The overrides with one of them set or, with `undefined`, removed; `undefined` when none is left. */
export function withOverride(
  overrides: Overrides | undefined,
  index: number,
  on: boolean | undefined,
): Overrides | undefined {
  const entries = overrides === undefined ? [] : unpack(overrides);
  const at = entries.findIndex((entry) => entry >>> 1 >= index);
  const position = at === -1 ? entries.length : at;
  const replaces = at !== -1 && entries[at]! >>> 1 === index ? 1 : 0;
  if (on === undefined) entries.splice(position, replaces);
  else entries.splice(position, replaces, (index << 1) | (on ? 1 : 0));
  if (entries.length === 0) return undefined;
  return entries.length <= LONGEST_LIST ? String.fromCharCode(...entries) : packBitmap(entries);
}

/** Sorted `index << 1 | on`, of either form. */
function unpack(overrides: Overrides): number[] {
  const entries: number[] = [];
  if (overrides.charCodeAt(0) !== BITMAP) {
    for (let at = 0; at < overrides.length; at++) entries.push(overrides.charCodeAt(at));
    return entries;
  }
  for (let unit = 1; unit < overrides.length; unit++) {
    const bits = overrides.charCodeAt(unit);
    for (let offset = 0; offset < 8; offset++) {
      const state = (bits >>> (offset << 1)) & 3;
      if (state !== INHERITED) entries.push((((unit - 1) * 8 + offset) << 1) | (state & 1));
    }
  }
  return entries;
}

function packBitmap(entries: readonly number[]): Overrides {
  const units = new Uint16Array(2 + (entries[entries.length - 1]! >>> 4));
  units[0] = BITMAP;
  for (const entry of entries) {
    const index = entry >>> 1;
    units[1 + (index >>> 3)]! |= (OVERRIDDEN_OFF | (entry & 1)) << ((index & 7) << 1);
  }
  return String.fromCharCode(...units);
}
