/** Where a text stops being JSON, counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[\]{},:]/uy;

/** What may come next. */
type Expected = 'value' | 'first item' | 'first key' | 'key' | 'colon' | 'more' | 'end';

/**
 * The place of the first token that makes a text no JSON, for a message that must not quote it: the messages of
 * `JSON.parse` do. A text that ends too early does so behind its last character.
 */
export function jsonErrorPlace(text: string): Place {
  const open: ('[' | '{')[] = [];
  let expected: Expected = 'value';
  let at = 0;

  const afterValue = (): Expected => (open.length === 0 ? 'end' : 'more');
  const fits = (token: string): Expected | undefined => {
    const inside = open.at(-1);
    const closes = token === (inside === '[' ? ']' : '}') && inside !== undefined;
    if (closes && (expected === 'more' || expected === (inside === '[' ? 'first item' : 'first key'))) {
      open.pop();
      return afterValue();
    }
    if (expected === 'more') return token === ',' ? (inside === '[' ? 'value' : 'key') : undefined;
    if (expected === 'colon') return token === ':' ? 'value' : undefined;
    if (expected === 'key' || expected === 'first key') return token.startsWith('"') ? 'colon' : undefined;
    if (expected === 'end' || /^[\]},:]/.test(token)) return undefined;
    if (token !== '[' && token !== '{') return afterValue();
    open.push(token);
    return token === '[' ? 'first item' : 'first key';
  };

  for (;;) {
    SPACE.lastIndex = at;
    SPACE.exec(text);
    at = SPACE.lastIndex;
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[0];
    const next = token === undefined ? undefined : fits(token);
    if (token === undefined || next === undefined) break;
    expected = next;
    at += token.length;
  }
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
