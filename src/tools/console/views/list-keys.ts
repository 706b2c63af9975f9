import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface ListKeys {
  /** Names of the rows that can have the focus; `undefined` for others. */
  readonly names: readonly (string | undefined)[];
  readonly grid: RefObject<HTMLElement | null>;
  /** @returns whether the key did something */
  readonly onKey: (key: string, name: string) => boolean;
}

/** How often an order by calls may change, in milliseconds. */
const ORDER_MS = 10_000;
/** Rows that a page key moves by. */
const PAGE = 10;

/** One row of a list is reached by the Tab key; arrows go to others, drawn or not. */
export function useListKeys({ names, grid, onKey }: ListKeys) {
  const [current, setCurrent] = useState<string | undefined>();
  const toFocus = useRef<string | undefined>(undefined);
  const first = names.findIndex((name) => name !== undefined);
  const found = current === undefined ? -1 : names.indexOf(current);
  const index = found === -1 ? first : found;

  useLayoutEffect(() => {
    const name = toFocus.current;
    if (name === undefined) return;
    const link = grid.current?.querySelector<HTMLElement>(`[data-name="${CSS.escape(name)}"] a`);
    if (link === null || link === undefined) return;
    toFocus.current = undefined;
    link.focus({ preventScroll: true });
    link.closest('.virtual-row')?.scrollIntoView({ block: 'nearest' });
  });

  function go(to: number, step: 1 | -1): void {
    let at = Math.min(Math.max(to, 0), names.length - 1);
    while (names[at] === undefined && at >= 0 && at < names.length) at += step;
    const name = names[at];
    if (name === undefined) return;
    toFocus.current = name;
    setCurrent(name);
  }

  return {
    index: index === -1 ? undefined : index,
    onFocusIn(event: FocusEvent): void {
      const row = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-name]') : null;
      if (row?.dataset.name !== undefined) setCurrent(row.dataset.name);
    },
    onKeyDown(event: KeyboardEvent): void {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof Element && !event.target.closest('[data-name]')) return;
      const moves: Readonly<Record<string, readonly [number, 1 | -1]>> = {
        ArrowDown: [index + 1, 1],
        j: [index + 1, 1],
        ArrowUp: [index - 1, -1],
        k: [index - 1, -1],
        Home: [0, 1],
        End: [names.length - 1, -1],
        PageDown: [index + PAGE, 1],
        PageUp: [index - PAGE, -1],
      };
      const move = moves[event.key];
      const name = names[index];
      if (move !== undefined) go(...move);
      else if (name === undefined || !onKey(event.key, name)) return;
      event.preventDefault();
    },
  };
}

/** Counts up when rows may change their places: not while the pointer or the focus is in the list. */
export function useCalmOrder(list: RefObject<HTMLElement | null>): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden && list.current?.matches(':hover, :focus-within') !== true) setCount((known) => known + 1);
    }, ORDER_MS);
    return () => clearInterval(timer);
  }, [list]);
  return count;
}
