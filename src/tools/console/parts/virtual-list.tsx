import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { edgesOf, visibleRange } from './visible-range.ts';

export interface VirtualListProps<T> {
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly renderRow: (item: T, index: number) => ComponentChildren;
  /** Height of a row, in pixels. */
  readonly rowHeight: number | ((item: T) => number);
  /** A row that stays drawn wherever the page is scrolled to, because it has the focus. */
  readonly keep?: number | undefined;
}

/** The list follows the scrolling in steps of this size, in pixels, so that most frames draw nothing. */
const STEP = 200;

/** Draws the rows of a long list that can be seen. They scroll with the page. */
export function VirtualList<T>({ items, keyOf, renderRow, rowHeight, keep }: VirtualListProps<T>) {
  const list = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const heightOf = typeof rowHeight === 'number' ? () => rowHeight : rowHeight;
  const heights = items.map(heightOf);
  const shape = heights.join();
  const edges = useMemo(() => edgesOf(heights), [items, shape]);
  const measure = () => {
    const top = Math.floor(-(list.current?.getBoundingClientRect().top ?? 0) / STEP) * STEP;
    const height = innerHeight + STEP;
    setView((known) => (known.top === top && known.height === height ? known : { top, height }));
  };
  useLayoutEffect(() => {
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, []);
  // Elements above the list may have changed its place.
  useLayoutEffect(measure);
  const { from, to } = visibleRange({ ...view, count: items.length, edge: (at) => edges[at] ?? 0 });
  const indices = Array.from({ length: to - from }, (_, at) => from + at);
  if (keep !== undefined && keep < items.length && keep < from) indices.unshift(keep);
  else if (keep !== undefined && keep < items.length && keep >= to) indices.push(keep);
  // Rows that were drawn stay as they are while the page is scrolled.
  const drawn = useMemo(() => new Map<number, ComponentChildren>(), [items, renderRow, shape]);
  const rowAt = (index: number) => {
    const item = items[index] as T;
    const style = { transform: `translateY(${edges[index]}px)`, height: `${heightOf(item)}px` };
    const row = drawn.get(index) ?? (
      <div key={keyOf(item)} class="virtual-row" role="presentation" style={style}>
        {renderRow(item, index)}
      </div>
    );
    drawn.set(index, row);
    return row;
  };
  return (
    <div ref={list} class="virtual-list" role="presentation" style={{ height: `${edges.at(-1)}px` }}>
      {indices.map(rowAt)}
    </div>
  );
}
