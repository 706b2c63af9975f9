/** Words that no shell changes. A first `=` is expanded by zsh. */
const PLAIN = /^[\w./:@%+,-][\w./:=@%+,-]*$/;

/** Quotes words for a shell where they need it. For commands that are printed to be pasted, with text of others in them. */
export function shellWords(...words: readonly string[]): string {
  return words.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}
