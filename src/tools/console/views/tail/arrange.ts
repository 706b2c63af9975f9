import type { LineRow, Row } from './row.ts';

/** How lines are put together for the reader. */
export interface Arrangement {
  /** Equal lines in a row are one, with their number. */
  readonly fold: boolean;
  /** Lines of a trace stand together. */
  readonly byTrace: boolean;
  /** Keys of the groups whose lines are shown. */
  readonly open: ReadonlySet<string>;
}

/** Rows as they are shown. Recorded lines of one piece of work are always one entry. */
export function arranged(rows: readonly Row[], { fold, byTrace, open }: Arrangement): readonly Row[] {
  return withGroups(fold ? folded(rows) : rows, byTrace, open);
}

function folded(rows: readonly Row[]): readonly Row[] {
  const shown: Row[] = [];
  for (const row of rows) {
    const last = shown.at(-1);
    if (row.kind === 'line' && last?.kind === 'line' && isEqual(row, last)) {
      shown[shown.length - 1] = { ...last, times: (last.times ?? 1) + 1 };
    } else shown.push(row);
  }
  return shown;
}

function isEqual(a: LineRow, b: LineRow): boolean {
  return (
    a.line.message === b.line.message &&
    a.attributes === b.attributes &&
    a.line.category === b.line.category &&
    a.line.tenant === b.line.tenant
  );
}

function withGroups(rows: readonly Row[], byTrace: boolean, open: ReadonlySet<string>): readonly Row[] {
  const groups = Map.groupBy(rows, (row) => (row.kind === 'line' ? keyOf(row, byTrace) : undefined));
  groups.delete(undefined);
  if (groups.size === 0) return rows;
  const shown: Row[] = [];
  for (const row of rows) {
    const key = row.kind === 'line' ? keyOf(row, byTrace) : undefined;
    const lines = key === undefined ? undefined : (groups.get(key) as LineRow[] | undefined);
    if (key === undefined || lines === undefined) {
      shown.push(row);
      continue;
    }
    if (lines[0] !== row) continue;
    const isOpen = open.has(key);
    // Before its first line, and never the same as another row.
    shown.push({ kind: 'group', id: row.id - 0.5, key, lines, isOpen });
    if (isOpen) shown.push(...lines);
  }
  return shown;
}

/** The group of a line: its piece of work, where it was recorded, or its trace. */
function keyOf({ work, line }: LineRow, byTrace: boolean): string | undefined {
  if (work !== undefined) return `work ${work.id}`;
  return byTrace && line.traceId !== undefined ? `trace ${line.traceId}` : undefined;
}

/** Time between the first and the last of some lines, in milliseconds. */
export function durationOf(lines: readonly LineRow[]): number {
  const times = lines.map(({ at }) => at);
  return Math.max(...times) - Math.min(...times);
}
