type Matcher = (text: string) => boolean;

/**
 * A pattern in which `*` stands for any characters. The first place of each part is kept, so that the time grows with the
 * length of the text, and not with a power of it as in a regular expression of several `.*`.
 * @param options.one stands for any one character. @default no character does
 */
export function patternMatcher(pattern: string, { one }: { readonly one?: string } = {}): Matcher {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  const isAt = (text: string, part: string, at: number): boolean =>
    one === undefined || !part.includes(one)
      ? text.startsWith(part, at)
      : at + part.length <= text.length && [...part].every((each, index) => each === one || each === text[at + index]);
  const place = (text: string, part: string, from: number): number => {
    if (one === undefined || !part.includes(one)) return text.indexOf(part, from);
    for (let at = from; at + part.length <= text.length; at++) if (isAt(text, part, at)) return at;
    return -1;
  };
  if (last === undefined) return (text) => text.length === pattern.length && isAt(text, pattern, 0);
  return (text) => {
    if (!isAt(text, first, 0)) return false;
    let at = first.length;
    for (const part of others) {
      const found = place(text, part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    const end = text.length - last.length;
    return end >= at && isAt(text, last, end);
  };
}

/** A value, of which only a `*` at the end stands for any ending. */
export function allowing(value: string): Matcher {
  if (!value.endsWith('*')) return (actual) => actual === value;
  const prefix = value.slice(0, -1);
  return (actual) => actual.startsWith(prefix);
}
