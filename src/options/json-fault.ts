const TOKEN =
  /[ \t\r\n]*(?:([{}[\],:])|"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])|$)/uy;

/** The tokens that may come next. */
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or ]' | ', or }' | 'end';

/**
 * The first position at which a text is not JSON, counted from 1; `undefined` if it is valid. The message of `JSON.parse`
 * quotes the text, and does not always have the position.
 */
export function findJsonFault(text: string): { readonly line: number; readonly column: number } | undefined {
  const open: ('[' | '{')[] = [];
  let expected: Expected = 'value';
  for (let offset = 0; ; offset = TOKEN.lastIndex) {
    TOKEN.lastIndex = offset;
    const match = TOKEN.exec(text);
    if (match === null) return place(text, offset + spaceAt(text, offset));
    const token = match[0].trimStart();
    const next = step(expected, match[1] ?? token.at(0) ?? '', open);
    if (next === undefined) return place(text, TOKEN.lastIndex - token.length);
    if (token === '') return undefined;
    expected = next;
  }
}

/** @param token a punctuation mark, the first character of a value, or empty at the end of the text */
function step(expected: Expected, token: string, open: ('[' | '{')[]): Expected | undefined {
  if (token === '') return expected === 'end' ? 'end' : undefined;
  switch (expected) {
    case 'value or ]':
      return token === ']' ? close(open) : value(token, open);
    case 'value':
      return value(token, open);
    case 'key or }':
      if (token === '}') return close(open);
      return token === '"' ? ':' : undefined;
    case 'key':
      return token === '"' ? ':' : undefined;
    case ':':
      return token === ':' ? 'value' : undefined;
    case ', or ]':
      if (token === ',') return 'value';
      return token === ']' ? close(open) : undefined;
    case ', or }':
      if (token === ',') return 'key';
      return token === '}' ? close(open) : undefined;
    case 'end':
      return undefined;
  }
}

function value(token: string, open: ('[' | '{')[]): Expected | undefined {
  if (token === '[' || token === '{') {
    open.push(token);
    return token === '[' ? 'value or ]' : 'key or }';
  }
  return /[}\],:]/.test(token) ? undefined : inside(open);
}

function close(open: ('[' | '{')[]): Expected {
  open.pop();
  return inside(open);
}

function inside(open: readonly ('[' | '{')[]): Expected {
  const innermost = open.at(-1);
  if (innermost === undefined) return 'end';
  return innermost === '[' ? ', or ]' : ', or }';
}

function spaceAt(text: string, offset: number): number {
  return /^[ \t\r\n]*/.exec(text.slice(offset))![0].length;
}

function place(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}
