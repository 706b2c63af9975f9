import { useMemo } from 'preact/hooks';
import { now } from '../../page.ts';
import { Lanes } from '../../parts/pictures.tsx';
import { isFailure } from './arrange.ts';
import { fieldOf } from './filter.ts';
import type { LineRow } from './row.ts';
import { hueOf, tail } from './running-tail.ts';

/** Most lines that are drawn, those around the chosen one. */
const MOST = 30;

/** The lines of a trace or of a piece of work, each from its time to that of the next one. */
export function Waterfall({ of: chosen }: { readonly of: LineRow }) {
  const all = useMemo(() => linesWith(chosen), [chosen, now.value]);
  const start = Math.max(0, Math.min(all.length - MOST, all.indexOf(chosen) - MOST / 2));
  const [first, last] = [all[0], all.at(-1)];
  if (first === undefined || last === undefined || all.length < 2) return null;
  const after = (at: number) => `${(at - first.at).toLocaleString('en')} ms`;
  return (
    <Lanes
      label={`${all.length} lines in ${after(last.at)}`}
      heads={['Category', 'Message', 'After']}
      scale={{ from: first.at, to: last.at }}
      lanes={all.slice(start, start + MOST).map((row, at) => ({
        name: row.line.category,
        hue: hueOf(row.line.category),
        detail: `${row === chosen ? '▸ ' : ''}${row.line.message}`,
        value: `+${after(row.at)}`,
        bars: [
          {
            from: row.at,
            to: all[start + at + 1]?.at ?? row.at,
            tone: isFailure(row) ? 'error' : 'some',
            title: after(row.at),
          },
        ],
      }))}
    />
  );
}

/** The lines of the same piece of work, where it was recorded, or else of the same trace, in the order of their times. */
function linesWith(chosen: LineRow): readonly LineRow[] {
  const keyOf = (row: LineRow) => row.work?.id ?? fieldOf(row, 'trace');
  const key = keyOf(chosen);
  if (key === undefined) return [];
  return tail.log.rows
    .filter((row): row is LineRow => row.kind === 'line' && keyOf(row) === key)
    .toSorted((a, b) => a.at - b.at || a.id - b.id);
}
