const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const OPENING: ReadonlySet<number> = new Set([0x5b, OPENING_BRACE]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/**
 * The first member name that an object in a JSON text has twice; `undefined` for none. Parsers disagree about which one wins (RFC 8259, section 4).
 * @param json valid JSON
 */
export function duplicateMember(json: string): string | undefined {
  /** The member names of each open object; `undefined` for a list. */
  const open: (Set<string> | undefined)[] = [];
  let nameNext = false;
  for (let at = 0; at < json.length; at++) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) {
      const end = endOfString(json, at);
      if (nameNext) {
        const name: string = JSON.parse(json.slice(at, end + 1));
        const names = open.at(-1);
        if (names?.has(name)) return name;
        names?.add(name);
      }
      nameNext = false;
      at = end;
    } else if (OPENING.has(character)) {
      nameNext = character === OPENING_BRACE;
      open.push(nameNext ? new Set() : undefined);
    } else if (CLOSING.has(character)) open.pop();
    else if (character === COMMA) nameNext = open.at(-1) !== undefined;
  }
  return undefined;
}

/** Where the string that begins at `start` has its closing quote. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** The JSON of a value; `undefined` for one that is nested too deeply, although its JSON was parsed. */
export function serialized(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** The value of an untrusted text; `undefined` where it is not JSON. The parser's own error could quote the text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members that have a value, as JSON has them. */
export function given<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

/** How large a JSON text may be. */
export interface JsonBounds {
  readonly bytes: number;
  /** Objects and lists within each other. */
  readonly depth: number;
  /** Members of objects and elements of lists, of all objects and lists together. */
  readonly values: number;
}

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
