import type { ComponentChildren } from 'preact';
import { VirtualList, type VirtualListProps } from './virtual-list.tsx';

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
