/** A piece of a row that is shown in one style. */
export interface Run {
  readonly column: number;
  readonly text: string;
  /** Names of classes in the picture: `bold`, `dim`, `red` and others. */
  readonly styles: readonly string[];
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** A code that selects nothing. */
const UNCHANGED = '10';

/**
 * The runs of each row of a screen, whose styles are escape sequences (ECMA-48, SGR); a style goes on in the next row.
 * @throws for any other escape sequence
 */
export function runsOf(screen: readonly string[]): Run[][] {
  let styles: readonly string[] = [];
  return screen.map((row) => {
    const runs: Run[] = [];
    let column = 0;
    for (const [at, part] of row.split('\u001b[').entries()) {
      const [, codes, rest = ''] = at === 0 ? ['', UNCHANGED, part] : (/^([\d;]*)m(.*)$/.exec(part) ?? []);
      if (codes === undefined) throw new Error(`not a style: ${JSON.stringify(part)}`);
      styles = codes.split(';').map(Number).reduce(restyled, styles);
      if (rest.trim() !== '') runs.push({ column, text: rest.trimEnd(), styles });
      column += rest.length;
    }
    return runs;
  });
}

function restyled(styles: readonly string[], code: number): readonly string[] {
  const colour = COLOURS[code % 10];
  const withoutColour = styles.filter((style) => !COLOURS.includes(style));
  if (code === 0) return [];
  if (code === 1) return [...styles, 'bold'];
  if (code === 2) return [...styles, 'dim'];
  if (code === 22) return styles.filter((style) => style !== 'bold' && style !== 'dim');
  if (code === 39) return withoutColour;
  if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) return [...withoutColour, colour!];
  return styles;
}
