/**
 * Characters that break the line, control the terminal, hide text or reverse its direction: control characters (including
 * C1, which some terminals obey), format characters, line and paragraph separators, lone surrogates.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNPRINTABLE_IN_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Escapes such characters as `\uXXXX`, so that the text stays on one line. A JSON string stays valid JSON. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, escapeCharacter);
}

/** Same as {@link escapeUnprintable}, but keeps line breaks. */
export function escapeUnprintableInLines(text: string): string {
  return text.replace(UNPRINTABLE_IN_LINES, escapeCharacter);
}

/** A terminal with another character set shows wrong letters for UTF-8, and obeys some of its bytes as control characters. */
export function escapeBeyondAscii(text: string): string {
  return text.replace(/\P{ASCII}/gu, escapeCharacter);
}

/** One escape per UTF-16 code unit: a character outside of the basic plane has two. */
function escapeCharacter(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index);
    return `\\u${unit.toString(16).padStart(4, '0')}`;
  }).join('');
}

/** The first few names, and how many more there are of all. */
export function nameSome(
  names: readonly string[],
  { most = 5, all = names.length }: { readonly most?: number; readonly all?: number } = {},
): string {
  const shown = names.slice(0, most);
  const more = all - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
