import type { ComponentChildren } from 'preact';
import { LongText, Text } from './text.tsx';
import { VirtualList, type VirtualListProps } from './virtual-list.tsx';

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

interface TableProps {
  /** For readers of the screen. */
  readonly caption: string;
  readonly head: readonly string[];
  /** The first cell names its row. */
  readonly rows: readonly (readonly [name: string, cells: readonly ComponentChildren[]])[];
  readonly nameOf?: (name: string) => ComponentChildren;
}

export function Table({ caption, head, rows, nameOf = (name) => name }: TableProps) {
  return (
    <table class="figures">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {head.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, cells]) => (
          <tr key={name}>
            <th scope="row">{nameOf(name)}</th>
            {cells.map((cell) => (
              <td>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface LongTableProps<T> extends VirtualListProps<T> {
  /** For readers of the screen. */
  readonly label: string;
  /** Class of its rows, which says how wide each column is. */
  readonly kind: string;
  readonly head: readonly string[];
}

/** A table with a head, of which the rows that can be seen are drawn. */
export function LongTable<T>({ label, kind, head, ...list }: LongTableProps<T>) {
  return (
    <div role="table" aria-label={label} aria-rowcount={list.items.length + 1}>
      <div role="row" aria-rowindex={1} class={`line line-head ${kind}`}>
        {head.map((title) => (
          <span key={title} role="columnheader">
            {title}
          </span>
        ))}
      </div>
      <VirtualList {...list} />
    </div>
  );
}

interface LongRowProps {
  /** Classes: of the kind of row, and of what is special about this one. */
  readonly kind: string;
  /** Position among the rows, from 0. */
  readonly index: number;
  readonly cells: readonly ComponentChildren[];
}

export function LongRow({ kind, index, cells }: LongRowProps) {
  return (
    <div role="row" aria-rowindex={index + 2} class={`line ${kind}`}>
      {cells.map((cell) => (
        <div role="cell">{cell}</div>
      ))}
    </div>
  );
}
