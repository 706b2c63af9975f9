const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;

/**
 * The first member name that an object in a JSON text has twice; `undefined` for none. Parsers disagree about which one wins (RFC 8259, section 4).
 * @param json valid JSON
 * @param value the parsed text
 */
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
