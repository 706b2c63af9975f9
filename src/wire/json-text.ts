const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;

/** Parsers disagree about which one wins (RFC 8259, section 4). @param json valid, of the `value` */
export function duplicateMember(json: string, value: unknown): string | undefined {
  // Fast path: JSON that serializes to itself has no duplicate member. Go escapes three characters that need no escape.
  if (serialized(value) === json.replace(/\\u00(?:26|3c|3e)/g, (escaped) => JSON.parse(`"${escaped}"`)))
    return undefined;
  /** For each open object, its member names and whether a name comes next; `undefined` for an array. */
  const open: ({ readonly names: Set<string>; nameNext: boolean } | undefined)[] = [];
  for (const [token] of json.matchAll(TOKEN)) {
    const innermost = open.at(-1);
    if (token === '{') open.push({ names: new Set(), nameNext: true });
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (innermost === undefined) continue;
    else if (token === ',') innermost.nameNext = true;
    else if (innermost.nameNext) {
      const name: string = JSON.parse(token);
      if (innermost.names.has(name)) return name;
      innermost.names.add(name);
      innermost.nameNext = false;
    }
  }
  return undefined;
}

/** The JSON of a value; `undefined` for one that is nested too deeply, although its JSON was parsed. */
export function serialized(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Of an untrusted text; `undefined` where it is not JSON. The parser's own error could quote the text. */
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

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Found without parsing: what a parser makes of a text may be many times as large. @param bytes valid JSON or not */
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
