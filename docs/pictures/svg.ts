import { isDeepStrictEqual } from 'node:util';
import type { Run } from './ansi.ts';

/** A window of the picture: a title, and so many rows of a terminal. */
export interface Pane {
  readonly title: string;
  readonly rows: number;
}

/** What the panes show from a moment on: the runs of each row. */
export interface Frame {
  /** Milliseconds that it is shown. */
  readonly shownMs: number;
  readonly screens: readonly (readonly (readonly Run[])[])[];
}

const COLUMNS = 80;
const CHARACTER = 8;
const ROW = 18;
const TITLE = 24;
const MARGIN = 12;

/**
 * An SVG that plays the frames without a script: each row is there once, and is shown while its turn is. The last frame is what
 * a reader who wants no motion sees.
 */
export function animation(label: string, panes: readonly Pane[], frames: readonly Frame[]): string {
  const total = frames.reduce((sum, { shownMs }) => sum + shownMs, 0);
  const width = COLUMNS * CHARACTER + 2 * MARGIN;
  const tops = panes.map((_, at) => panes.slice(0, at).reduce((top, pane) => top + heightOf(pane) + MARGIN, 0));
  const height = panes.reduce((sum, pane) => sum + heightOf(pane) + MARGIN, -MARGIN);
  const rows = new Map<string, string>();
  const turns = new Map<string, string[]>();
  for (const { pane, row, runs, from, to } of stays(panes, frames)) {
    const text = runs.map(textOf).join('');
    const id = rows.get(text) ?? `r${rows.size}`;
    rows.set(text, id);
    const y = tops[pane]! + TITLE + (row + 1) * ROW;
    const turn = `${from} ${to}`;
    turns.set(turn, [...(turns.get(turn) ?? []), `<use href="#${id}" y="${y}"/>`]);
  }
  const percent = (ms: number) => `${Number(((100 * ms) / total).toFixed(2))}%`;
  const shown = [...turns].map(([turn, uses], at) => {
    const [from = 0, to = 0] = turn.split(' ').map(Number);
    const always = from === 0 && to === total;
    const hide = to === total ? '' : `${percent(to)}{visibility:hidden}`;
    const keyframes = `@keyframes k${at}{0%{visibility:${from === 0 ? 'visible' : 'hidden'}}${from === 0 ? '' : `${percent(from)}{visibility:visible}`}${hide}}`;
    return {
      style: always ? '' : `${keyframes}.k${at}{animation-name:k${at}}`,
      group: `<g class="k${at}${to === total ? '' : ' h'}">${uses.join('')}</g>`,
    };
  });
  const windows = panes.map(
    (pane, at) =>
      `<rect class="window" x=".5" y="${tops[at]! + 0.5}" width="${width - 1}" height="${heightOf(pane) - 1}" rx="6"/>` +
      `<text class="dim" x="${MARGIN}" y="${tops[at]! + 17}">${escaped(pane.title)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(label)}">
<title>${escaped(label)}</title>
<style>
${STYLE}
@media (prefers-reduced-motion:no-preference){
[class^=k]{animation:${total}ms step-end infinite}
${shown.map(({ style }) => style).join('\n')}
}
</style>
<defs>
${[...rows].map(([text, id]) => `<g id="${id}">${text}</g>`).join('\n')}
</defs>
${windows.join('\n')}
${shown.map(({ group }) => group).join('\n')}
</svg>
`;
}

const heightOf = ({ rows }: Pane) => TITLE + rows * ROW + MARGIN;

const STYLE = `text{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#1f2328}
.window{fill:#f6f8fa;stroke:#d1d9e0}
.h{visibility:hidden}
.bold{font-weight:600}
.dim{fill:#59636e}
.red{fill:#b3261e}.green{fill:#116329}.yellow{fill:#7d4e00}.blue{fill:#0550ae}.magenta{fill:#6639ba}.cyan{fill:#0b6b75}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.window{fill:#0d1117;stroke:#3d444d}
.dim{fill:#9198a1}
.red{fill:#ff7b72}.green{fill:#56d364}.yellow{fill:#e3b341}.blue{fill:#79c0ff}.magenta{fill:#d2a8ff}.cyan{fill:#76e3ea}
}`;

interface Stay {
  readonly pane: number;
  readonly row: number;
  readonly runs: readonly Run[];
  /** Milliseconds from the beginning. */
  readonly from: number;
  readonly to: number;
}

/** How long each row keeps each text. Rows without text are left out. */
function stays(panes: readonly Pane[], frames: readonly Frame[]): Stay[] {
  return panes.flatMap(({ rows }, pane) =>
    Array.from({ length: rows }, (_, row) => row).flatMap((row) => {
      const found: Stay[] = [];
      let at = 0;
      for (const { shownMs, screens } of frames) {
        const runs = screens[pane]?.[row] ?? [];
        const before = found.at(-1);
        if (before && isDeepStrictEqual(before.runs, runs)) found[found.length - 1] = { ...before, to: at + shownMs };
        else found.push({ pane, row, runs, from: at, to: at + shownMs });
        at += shownMs;
      }
      return found.filter(({ runs }) => runs.length > 0);
    }),
  );
}

/** Up to the edge. Its width is given, so that columns stand below each other in any font. */
function textOf({ column, text, styles }: Run): string {
  const names = styles.length === 0 ? '' : ` class="${styles.join(' ')}"`;
  const indent = text.length - text.trimStart().length;
  const words = text.slice(indent, Math.max(0, COLUMNS - column));
  if (words === '') return '';
  const length = words.length > 1 ? ` textLength="${words.length * CHARACTER}" lengthAdjust="spacingAndGlyphs"` : '';
  return `<text${names} x="${MARGIN + (column + indent) * CHARACTER}"${length}>${escaped(words)}</text>`;
}

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]!);
