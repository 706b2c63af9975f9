import { useMemo } from 'preact/hooks';
import { now } from '../../page.ts';
import { Text } from '../../parts/text.tsx';
import { type FieldCount, fieldsOf } from './fields.ts';
import { termFor } from './filter.ts';
import type { Row } from './row.ts';

/** The fields of the lines, counted again once a second. */
export function useFields(rows: readonly Row[], filter: unknown): readonly FieldCount[] {
  return useMemo(() => fieldsOf(rows), [filter, now.value, rows.length === 0]);
}

interface FieldListProps {
  readonly fields: readonly FieldCount[];
  readonly columns: readonly string[];
  readonly onTerm: (term: string) => void;
  readonly onColumns: (columns: readonly string[]) => void;
}

/** The fields of the newest lines with their values: each can be looked for, left out, or stand in a column. */
export function FieldList({ fields, columns, onTerm, onColumns }: FieldListProps) {
  if (fields.length === 0) return <p class="muted">No lines yet.</p>;
  return (
    <ul class="field-list">
      {fields.map(({ name, values, distinct }) => {
        const isColumn = columns.includes(name);
        return (
          <li key={name}>
            <div class="bar tight">
              <strong class="name">
                <Text value={name} most={60} />
              </strong>
              <span class="muted">{distinct}</span>
              <button
                type="button"
                class="link"
                aria-pressed={isColumn}
                aria-label={`${isColumn ? 'No column' : 'Column'} for ${name}`}
                onClick={() => onColumns(isColumn ? columns.filter((each) => each !== name) : [...columns, name])}
              >
                {isColumn ? 'no column' : 'column'}
              </button>
            </div>
            <ul>
              {values.map(([value, count]) => (
                <li key={value} class="bar tight">
                  <button
                    type="button"
                    class="link value"
                    aria-label={`Only ${name} ${value}`}
                    onClick={() => onTerm(termFor(name, value))}
                  >
                    <Text value={value} most={40} />
                  </button>
                  <span class="muted">{count}</span>
                  <button
                    type="button"
                    class="link"
                    aria-label={`Without ${name} ${value}`}
                    onClick={() => onTerm(`-${termFor(name, value)}`)}
                  >
                    −
                  </button>
                </li>
              ))}
            </ul>
          </li>
        );
      })}
    </ul>
  );
}
