const TOKEN = /("(?:[^"\\]|\\.)*")\s*(:?)|[{}[\]]/g;

/** The first name that one object has twice: `JSON.parse` takes the last of them, without a word. */
export function repeatedName(json: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') open.pop();
    if (text === undefined || colon === '') continue;
    const name = String(JSON.parse(text));
    if (open.at(-1)?.has(name)) return name;
    open.at(-1)?.add(name);
  }
  return undefined;
}
