import { escapeUnprintable } from '../printable.ts';
import type { Style, Terminal } from './terminal.ts';

/** A text, or one with a style where colours are shown. */
export type Cell = string | { readonly text: string; readonly style: Style };

/** Rows below a header, columns as wide as their widest cell. Escapes control characters in cells. */
export function table(
  { paint }: Pick<Terminal, 'paint'>,
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  const lines = [header.map((text): Cell => ({ text, style: 'bold' })), ...rows];
  const widths = header.map((_, column) =>
    Math.max(...lines.map((row) => escapeUnprintable(textOf(row[column])).length)),
  );
  return lines.map((row) => lineOf(paint, row, widths)).join('\n');
}

/** The last cell of a line is not padded. */
function lineOf(paint: Terminal['paint'], row: readonly Cell[], widths: readonly number[]): string {
  const last = row.findLastIndex((cell) => textOf(cell) !== '');
  const cells = row.slice(0, last + 1).map((cell, column) => {
    const padding = column === last ? 0 : (widths[column] ?? 0) - escapeUnprintable(textOf(cell)).length;
    return paint(textOf(cell), typeof cell === 'string' ? undefined : cell.style) + ' '.repeat(Math.max(0, padding));
  });
  return cells.join('  ').trimEnd();
}

function textOf(cell: Cell | undefined): string {
  return typeof cell === 'string' ? cell : (cell?.text ?? '');
}

/** `on` and `off`, in colours. */
export function state(enabled: boolean): Cell {
  return enabled ? { text: 'on', style: 'green' } : { text: 'off', style: 'dim' };
}
