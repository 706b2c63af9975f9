/**
 * What would end the line, move or colour the cursor, hide text or turn its direction round: control characters (the C1
 * ones too, which some terminals obey), format characters, line and paragraph separators, halves of surrogate pairs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNPRINTABLE_IN_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** The text with every such character as `\uXXXX`, so that it stays on one line. Within a string of JSON it stays JSON. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, escapeCharacter);
}

/** The same for text of several lines: their ends stay. */
export function escapeUnprintableInLines(text: string): string {
  return text.replace(UNPRINTABLE_IN_LINES, escapeCharacter);
}

/** One escape for each UTF-16 unit: a format character beyond the basic plane has two. */
function escapeCharacter(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index);
    return `\\u${unit.toString(16).padStart(4, '0')}`;
  }).join('');
}
