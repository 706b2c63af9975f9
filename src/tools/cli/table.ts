import type { Timestamp } from '../../wire/time.ts';
import type { State } from '../../wire/words/state.ts';

export type Style = 'green' | 'yellow' | 'red' | 'dim' | 'bold' | 'cyan';

/** A text with a style where colours are shown. */
export type Styled = readonly [text: string, style?: Style | undefined];

export type Cell = string | Styled;

/** The parts of a terminal that a table uses: colours and width. */
export interface Canvas {
  /** Escapes control characters, and colours the text where colours are shown. */
  paint(text: string, style: Style | undefined): string;
  readonly screen?: { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined };
}

export type Rows = readonly (readonly Cell[])[];

/** A column: its head, and its cell in each row. `false` for one that is not shown. */
export type Column<T> = false | readonly [head: string, cell: (item: T) => Cell];

export function rowsOf<T>(items: readonly T[], columns: readonly Column<T>[]): [header: string[], rows: Cell[][]] {
  const shown = columns.filter((column) => column !== false);
  return [shown.map(([head]) => head), items.map((item) => shown.map(([, cell]) => cell(item)))];
}

export interface TableOptions {
  /** Whether the last cell is cut where it has no room. @default false: it is folded */
  readonly cutsLast?: boolean;
  /** Of each row, newest first: those of several services are put in this order. @default none */
  readonly times?: readonly Timestamp[];
  /** Of which fleet the rows are: services that share a store have the same, which are shown once. @default none */
  readonly fleet?: string | undefined;
}

const GAP = '  ';

/** Columns of a terminal; of anything else, without a limit. */
function columnsOf(screen: Canvas['screen']): number {
  return (screen?.isTTY === true && screen.columns) || Number.POSITIVE_INFINITY;
}

/** Texts side by side. On a terminal what has no room goes on in the next line, indented. */
export function flowing({ paint, screen }: Canvas, parts: readonly Styled[]): string {
  const columns = columnsOf(screen);
  const indent = (/^ */.exec(parts[0]?.[0] ?? '')?.[0] ?? '') + GAP;
  const most = Math.max(1, columns - indent.length);
  let shown = '';
  let left = columns;
  for (const [text, style] of parts) {
    const escaped = paint(text, undefined);
    const gap = shown === '' ? 0 : 1;
    const pieces = widthOf(escaped) <= left - gap ? [escaped] : folded(escaped, most, left - gap);
    const [first = '', ...rest] = pieces;
    shown += [
      `${' '.repeat(first === '' ? 0 : gap)}${paint(first, style)}`,
      ...rest.map((piece) => indent + paint(piece, style)),
    ].join('\n');
    left = rest.length === 0 ? left - gap - widthOf(first) : most - widthOf(pieces.at(-1) ?? '');
  }
  return shown;
}

/** Least columns in which the last cell of a row is folded, or cut, beside the others; with less room it goes to the next line. */
const BESIDE = { folded: 24, cut: 10 };

/** On a narrower terminal the last cell is folded, or cut, and what has no room beside the others stands below them, indented. */
export function table(
  { paint, screen }: Canvas,
  header: readonly string[],
  rows: Rows,
  { cutsLast = false }: TableOptions = {},
): string {
  const lines = [header.map((text): Cell => [text, 'bold']), ...rows].map((row) =>
    row.map((cell): Styled => {
      const [text, style] = typeof cell === 'string' ? [cell] : cell;
      // As the terminal will show it, so that its width is known.
      return [paint(text, undefined), style];
    }),
  );
  const widths = header.map((_, column) => Math.max(...lines.map((row) => widthOf(row[column]?.[0] ?? ''))));
  const room = columnsOf(screen);
  const layout = laidOut(widths, room, cutsLast ? BESIDE.cut : BESIDE.folded);
  const fit = cutsLast ? cut : folded;
  return lines
    .flatMap((row) => layout.flatMap((places, below) => linesOf(paint, row, places, below > 0, fit)))
    .join('\n');
}

interface Place {
  readonly column: number;
  readonly width: number;
}

function laidOut(widths: readonly number[], room: number, least: number): Place[][] {
  const lines: Place[][] = [[]];
  let left = room;
  for (const [column, width] of widths.entries()) {
    const line = lines.at(-1) ?? [];
    const beside = line.length === 0 ? left : left - GAP.length;
    const folds = column === widths.length - 1 && beside >= least;
    if (line.length === 0 || width <= beside || folds) {
      const taken = Math.max(1, Math.min(width, beside));
      line.push({ column, width: taken });
      left = beside - taken;
      continue;
    }
    const taken = Math.max(1, Math.min(width, room - GAP.length));
    lines.push([{ column, width: taken }]);
    left = room - GAP.length - taken;
  }
  return lines;
}

/** One line, or more where a cell is folded; none where no cell below has a text. */
function linesOf(
  paint: Canvas['paint'],
  row: readonly Styled[],
  places: readonly Place[],
  below: boolean,
  fit: typeof folded,
): string[] {
  const cells = places.map(({ column, width }) => {
    const [text = '', style] = row[column] ?? [];
    const fitted = column === row.length - 1 ? fit : folded;
    return { pieces: widthOf(text) <= width ? [text] : fitted(text, width), width, style };
  });
  if (below && cells.every(({ pieces }) => pieces.join('') === '')) return [];
  const height = Math.max(...cells.map(({ pieces }) => pieces.length));
  return Array.from({ length: height }, (_, line) => {
    const parts = cells.map(({ pieces, width, style }) => {
      const text = pieces[line] ?? '';
      return (text === '' ? '' : paint(text, style)) + ' '.repeat(Math.max(0, width - widthOf(text)));
    });
    return `${below ? GAP : ''}${parts.join(GAP)}`.trimEnd();
  });
}

const STYLES = { on: 'green', quiet: 'yellow', recorded: 'cyan', off: 'dim' } as const;

export function state(text: State): Cell {
  return [text, STYLES[text]];
}

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
