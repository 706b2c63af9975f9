import type { ComponentChildren } from 'preact';
import { LongText, Text } from './text.tsx';
import { VirtualList } from './virtual-list.tsx';

/** Names and their values; what has no value is left out. A text is one from elsewhere. */
export function Fields({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <dl class="facts">
      {Object.entries(of).map(
        ([name, value]) =>
          value !== undefined &&
          value !== false && (
            <div key={name}>
              <dt>
                <Text value={name} />
              </dt>
              <dd>{typeof value === 'string' ? <LongText value={value} /> : value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** The columns of a table by their titles, and what stands in them. */
type Columns<T> = Readonly<Record<string, (item: T) => ComponentChildren>>;

export interface TableProps<T> {
  /** For readers of the screen. */
  readonly label: string;
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly columns: Columns<T>;
}

/** A short table. The first cell names its row. */
export function Table<T>({ label, items, keyOf, columns }: TableProps<T>) {
  const [[first, nameOf] = [], ...others] = Object.entries(columns);
  return (
    <table class="figures">
      <caption class="visually-hidden">{label}</caption>
      <thead>
        <tr>
          {[first, ...others.map(([title]) => title)].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={keyOf(item)}>
            <th scope="row">{nameOf?.(item)}</th>
            {others.map(([title, cell]) => (
              <td key={title}>{cell(item)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface LongTableProps<T> extends TableProps<T> {
  /** Class of its rows, which says how wide each column is. */
  readonly kind: string;
  /** Class of what is special about a row. */
  readonly classOf?: (item: T) => string;
}

/** Height of a row, in pixels. */
const ROW_HEIGHT = 44;

/** A table with a head, of which the rows that can be seen are drawn. */
export function LongTable<T>({ label, kind, columns, items, keyOf, classOf = () => '' }: LongTableProps<T>) {
  return (
    <div role="table" aria-label={label} aria-rowcount={items.length + 1}>
      <div role="row" aria-rowindex={1} class={`line line-head ${kind}`}>
        {Object.keys(columns).map((title) => (
          <span key={title} role="columnheader">
            {title}
          </span>
        ))}
      </div>
      <VirtualList
        items={items}
        keyOf={keyOf}
        rowHeight={ROW_HEIGHT}
        renderRow={(item, index) => (
          <div role="row" aria-rowindex={index + 2} class={`line ${kind} ${classOf(item)}`}>
            {Object.values(columns).map((cell) => (
              <div role="cell">{cell(item)}</div>
            ))}
          </div>
        )}
      />
    </div>
  );
}
