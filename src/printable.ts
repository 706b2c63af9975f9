/**
 * What would end the line, move the cursor or turn the reading direction round: control characters, line and paragraph
 * separators, bidirectional controls, halves of surrogate pairs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/gu;

/** The text with every such character written as `\uXXXX`, so that it stays on one line and reads as it is. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
