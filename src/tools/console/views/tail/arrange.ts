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

/**
 * Rows as they are shown. Recorded lines of one piece of work are always one entry.
 * @param all also the rows that a filter leaves out: a group of which one line passes is shown whole
 */
export function arranged(
  rows: readonly Row[],
  { fold, byTrace, open }: Arrangement,
  all: readonly Row[] = rows,
): readonly Row[] {
  const keyOf = ({ work, line }: LineRow) => {
    if (work !== undefined) return `work ${work.id}`;
    return byTrace && line.traceId !== undefined ? `trace ${line.traceId}` : undefined;
  };
  return withGroups(fold ? folded(rows) : rows, { open, all, keyOf });
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

interface Grouping extends Pick<Arrangement, 'open'> {
  readonly all: readonly Row[];
  /** The group of a line: its piece of work, where it was recorded, or its trace. */
  readonly keyOf: (row: LineRow) => string | undefined;
}

function withGroups(rows: readonly Row[], { open, all, keyOf }: Grouping): readonly Row[] {
  const groups = Map.groupBy(
    all.filter((row) => row.kind === 'line'),
    keyOf,
  );
  const done = new Set<string>();
  return rows.flatMap((row): Row | readonly Row[] => {
    const key = row.kind === 'line' ? keyOf(row) : undefined;
    const lines = key === undefined ? undefined : groups.get(key);
    if (key === undefined || lines === undefined) return row;
    if (done.has(key)) return [];
    done.add(key);
    const isOpen = open.has(key);
    // Before its first line, and never the same as another row.
    const group: Row = { kind: 'group', id: row.id - 0.5, key, lines, isOpen };
    return isOpen ? [group, ...lines] : group;
  });
}

/** Whether a line has an exception. */
export function isFailure({ line }: LineRow): boolean {
  return 'exception.type' in line.attributes;
}

/** Time between the first and the last of some lines, in milliseconds. */
export function durationOf(lines: readonly LineRow[]): number {
  const times = lines.map(({ at }) => at);
  return Math.max(...times) - Math.min(...times);
}
