/** How large a JSON text may be. */
export interface JsonBounds {
  readonly bytes: number;
  /** Objects and lists within each other. */
  readonly depth: number;
  /** Members of objects and elements of lists, of all objects and lists together. */
  readonly values: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/**
 * Which bound a JSON text exceeds, found without parsing it: what a parser makes of a text may be many times as large.
 * @param bytes in UTF-8, valid JSON or not
 */
export function exceededBound(bytes: Uint8Array, bounds: JsonBounds): keyof JsonBounds | undefined {
  if (bytes.length > bounds.bytes) return 'bytes';
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === COMMA) values += 1;
    else if (OPENING.has(byte)) {
      depth += 1;
      values += 1;
    } else if (CLOSING.has(byte)) depth -= 1;
    if (values > bounds.values) return 'values';
    if (depth > bounds.depth) return 'depth';
  }
  return undefined;
}
