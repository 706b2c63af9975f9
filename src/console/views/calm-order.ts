import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** How often an order that follows the calls is made again, in milliseconds. */
const EVERY_MS = 10_000;

/** Counts up when rows may change their places: not while somebody points at them. */
export function useCalmOrder(list: RefObject<HTMLElement | null>): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden && list.current?.matches(':hover, :focus-within') !== true) setCount((known) => known + 1);
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [list]);
  return count;
}
