/** Words that no shell changes. A first `=` is expanded by zsh. */
const PLAIN = /^[\w./:@%+,-][\w./:=@%+,-]*$/;

/** Words as a shell takes them, for lines that people paste: quoted where they need it, whoever chose their text. */
export function shellWords(...words: readonly string[]): string {
  return words.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}
