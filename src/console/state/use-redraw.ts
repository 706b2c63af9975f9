import { useReducer } from 'preact/hooks';

/** A function that draws the component again, and how often it has. */
export function useRedraw(): readonly [times: number, redraw: () => void] {
  const [times, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  return [times, () => redraw(undefined)];
}
