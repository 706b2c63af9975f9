import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { visibleRange } from './visible-range.ts';

export interface VirtualListProps<T> {
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly renderRow: (item: T, index: number) => ComponentChildren;
  /** Of each row, in pixels. */
  readonly rowHeight: number;
  /** A row that stays drawn wherever the page is scrolled to, because it has the focus. */
  readonly keep?: number | undefined;
}

/** Draws the rows of a long list that can be seen. They scroll with the page. */
export function VirtualList<T>({ items, keyOf, renderRow, rowHeight, keep }: VirtualListProps<T>) {
  const list = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const measure = () => {
      const top = -(list.current?.getBoundingClientRect().top ?? 0);
      const height = innerHeight;
      setView((known) => (known.top === top && known.height === height ? known : { top, height }));
    };
    measure();
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, []);
  useEffect(() => {
    const top = -(list.current?.getBoundingClientRect().top ?? 0);
    setView((known) => (known.top === top ? known : { ...known, top }));
  }, [items.length]);
  const { from, to } = visibleRange({ ...view, rowHeight, count: items.length });
  const indices = Array.from({ length: to - from }, (_, at) => from + at);
  if (keep !== undefined && keep < items.length && (keep < from || keep >= to)) indices.push(keep);
  return (
    <div ref={list} class="virtual-list" role="presentation" style={{ height: `${items.length * rowHeight}px` }}>
      {indices.map((index) => {
        const item = items[index];
        if (item === undefined) return null;
        return (
          <div
            key={keyOf(item)}
            class="virtual-row"
            role="presentation"
            style={{ transform: `translateY(${index * rowHeight}px)`, height: `${rowHeight}px` }}
          >
            {renderRow(item, index)}
          </div>
        );
      })}
    </div>
  );
}
