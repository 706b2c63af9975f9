/** Characters that take two columns of a terminal (Unicode, East Asian Width), and those that take none. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
const NONE = /\p{M}/u;

export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += NONE.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** After a space or a comma, but not within a command at the end, which is to be copied: `to end it: rdcp end ORDERS`. */
const BREAKS = /(?<=[\s,])(?<![:(] ?rdcp .*)/;

/** Broken at spaces and after commas. @param first columns of the first line, which is empty where no word has room */
export function folded(text: string, columns: number, first = columns): string[] {
  const lines: string[] = [];
  let line = '';
  for (let piece of text.split(BREAKS)) {
    const room = lines.length === 0 ? first : columns;
    if (widthOf(line + piece.trimEnd()) <= room) {
      line += piece;
      continue;
    }
    if (line !== '' || room < columns) lines.push(line.trimEnd());
    while (widthOf(piece.trimEnd()) > columns) {
      const start = startOf(piece, columns);
      lines.push(start);
      piece = piece.slice(start.length);
    }
    line = piece;
  }
  const last = line.trimEnd();
  return last === '' && lines.length > 0 ? lines : [...lines, last];
}

export function cut(text: string, columns: number): string[] {
  return columns < 4 ? [startOf(text, columns)] : [`${startOf(text, columns - 3).trimEnd()}...`];
}

function startOf(text: string, columns: number): string {
  let start = '';
  for (const character of text) {
    if (start !== '' && widthOf(start + character) > columns) break;
    start += character;
  }
  return start;
}
