import { useMemo } from 'preact/hooks';
import { now } from '../../page.ts';
import { printable } from '../../parts/format.ts';
import { Lanes, Picture } from '../../parts/pictures.tsx';
import { Text } from '../../parts/text.tsx';
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
  const lines = all.slice(start, start + MOST);
  const [first] = all;
  const last = all.at(-1);
  if (first === undefined || last === undefined || all.length < 2) return null;
  const after = ({ at }: LineRow) => `+${(at - first.at).toLocaleString('en')} ms`;
  return (
    <Picture
      label={`${all.length} lines in ${(last.at - first.at).toLocaleString('en')} ms`}
      items={lines}
      keyOf={({ id }) => String(id)}
      columns={{
        After: after,
        Category: ({ line }) => line.category,
        Message: ({ line }) => <Text value={line.message} />,
      }}
    >
      <Lanes
        amounts
        scale={{ from: first.at, to: last.at }}
        lanes={lines.map((row, at) => ({
          name: (
            <span class={row === chosen ? 'is-chosen' : ''}>
              <span class="category" style={hueOf(row.line.category)}>
                {row.line.category}
              </span>{' '}
              {printable(row.line.message, 120).text}
            </span>
          ),
          value: after(row),
          bars: [
            {
              from: row.at,
              to: lines[at + 1]?.at ?? row.at,
              tone: isFailure(row) ? 'error' : 'some',
              title: after(row),
            },
          ],
        }))}
      />
    </Picture>
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
