/** CategoryName of RDCP 1.0: 1 to 64 characters, upper case with underscores. */
export const CATEGORY_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
/** Names of custom categories: prefix `X-`, and hyphens are allowed. */
export const CUSTOM_CATEGORY_NAME = /^X-[A-Z][A-Z0-9_-]{0,61}$/;
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
 * A pattern in which `*` stands for any characters. Goes back to the last `*` alone, so that the time does not grow with a power of
 * the text's length, as that of a regular expression of several `.*`.
 * @param options.one stands for any one character. @default no character does
 */
export function patternMatcher(pattern: string, { one }: { readonly one?: string } = {}): Matcher {
  return (text) => {
    let star = -1;
    let retry = 0;
    let place = 0;
    for (let at = 0; at < text.length; ) {
      const wanted = pattern[place];
      if (wanted === '*') {
        star = place;
        retry = at;
        place += 1;
      } else if (wanted !== undefined && (wanted === text[at] || wanted === one)) {
        at += 1;
        place += 1;
      } else if (star >= 0) {
        retry += 1;
        at = retry;
        place = star + 1;
      } else return false;
    }
    return /^\**$/.test(pattern.slice(place));
  };
}

/** A value, of which only a `*` at the end stands for any ending. */
export function allowing(value: string): Matcher {
  if (!value.endsWith('*')) return (actual) => actual === value;
  const prefix = value.slice(0, -1);
  return (actual) => actual.startsWith(prefix);
}
