/** CategoryName of RDCP 1.0: 1 to 64 characters, upper case with underscores. */
export const CATEGORY_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
/** Names of custom categories: prefix `X-`, and hyphens are allowed. */
export const CUSTOM_CATEGORY_NAME = /^X-[A-Z][A-Z0-9_-]{0,61}$/;
/** Either of them. */
export const ANY_CATEGORY_NAME = /^(?:[A-Z][A-Z0-9_]{0,63}|X-[A-Z][A-Z0-9_-]{0,61})$/;
/** Identifier of RDCP 1.0: tenant, client and request ids. */
export const IDENTIFIER = /^[a-zA-Z0-9._-]{1,255}$/;

/** A name that is safe to print: no line breaks, invisible characters or direction overrides. */
export const PRINTABLE_NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,255}$/u;

export function isCategoryName(name: string): boolean {
  return ANY_CATEGORY_NAME.test(name);
}

export function isIdentifier(value: string): boolean {
  return IDENTIFIER.test(value);
}

/** Whether one of the patterns is the name, or a prefix of it with `*`. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => patternMatcher(pattern)(name));
}

/** Returns patterns for the names that both lists match. */
export function commonPatterns(one: readonly string[], other: readonly string[]): readonly string[] {
  // If two patterns share names, one includes the other.
  return [
    ...new Set([...one.filter((each) => matchesAny(other, each)), ...other.filter((each) => matchesAny(one, each))]),
  ];
}

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
