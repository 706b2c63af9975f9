import { useEffect } from 'preact/hooks';
import type { Connection } from './connection.ts';
import type { State } from './state.ts';
import { useRedraw } from './use-redraw.ts';

/** A part of the state. The component is drawn again when it is another value (`Object.is`). */
export function useStore<T>({ store }: Connection, select: (state: State) => T): T {
  const [, redraw] = useRedraw();
  const selected = select(store.state);
  useEffect(() => {
    const look = () => {
      if (!Object.is(select(store.state), selected)) redraw();
    };
    look();
    return store.subscribe(look);
  });
  return selected;
}
