import { useEffect, useReducer } from 'preact/hooks';
import type { Connection } from './connection.ts';
import type { State } from './state.ts';

/** A part of the state. The component is drawn again when it is another value (`Object.is`). */
export function useStore<T>({ store }: Connection, select: (state: State) => T): T {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const selected = select(store.state);
  useEffect(() => {
    if (!Object.is(select(store.state), selected)) redraw(undefined);
    return store.subscribe(() => {
      if (!Object.is(select(store.state), selected)) redraw(undefined);
    });
  });
  return selected;
}
