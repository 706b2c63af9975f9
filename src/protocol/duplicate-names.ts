const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;

/**
 * Whether an object in a JSON text has a duplicate member name. Parsers disagree about which one wins (RFC 8259, section 4).
 * @param json valid JSON
 */
export function namesMemberTwice(json: string): boolean {
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
      if (innermost.names.has(name)) return true;
      innermost.names.add(name);
      innermost.nameNext = false;
    }
  }
  return false;
}
