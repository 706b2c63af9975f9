import { useEffect, useRef } from 'preact/hooks';
import type { Connection } from '../state/connection.ts';
import type { Problem } from '../state/problem.ts';
import { useRedraw } from '../state/use-redraw.ts';

export interface Polled<T> {
  /** The newest answer; it stays while the next one fails. */
  readonly value: T | undefined;
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
  /** When the answer came, in milliseconds since the epoch. */
  readonly at: number | undefined;
  readonly refresh: () => void;
}

/**
 * Asks again and again while the page is seen; after a failure not before the server allows it.
 * @param key asks at once when it is another one
 * @param everyMs `undefined` asks once
 */
export function usePolled<T>(
  connection: Connection,
  ask: (signal: AbortSignal) => Promise<T>,
  { key, everyMs }: { readonly key?: unknown; readonly everyMs?: number | undefined } = {},
): Polled<T> {
  const [, redraw] = useRedraw();
  const state = useRef<Omit<Polled<T>, 'refresh'>>({
    value: undefined,
    problem: undefined,
    isLoading: true,
    at: undefined,
  });
  const refresh = useRef(() => {});
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAsking = false;
    const set = (change: Partial<Omit<Polled<T>, 'refresh'>>) => {
      if (controller.signal.aborted) return;
      state.current = { ...state.current, ...change };
      redraw();
    };
    const run = async () => {
      if (isAsking || document.hidden) return;
      isAsking = true;
      clearTimeout(timer);
      set({ isLoading: true });
      let wait = everyMs;
      try {
        set({ value: await ask(controller.signal), problem: undefined, at: connection.now() });
      } catch (error) {
        const problem = connection.problemOf(error);
        if (problem.retryAt !== undefined) wait = Math.max(wait ?? 0, problem.retryAt - connection.now());
        set({ problem });
      }
      isAsking = false;
      set({ isLoading: false });
      if (wait !== undefined && !controller.signal.aborted) timer = setTimeout(run, wait);
    };
    const seen = () => void run();
    refresh.current = seen;
    void run();
    document.addEventListener('visibilitychange', seen);
    addEventListener('online', seen);
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
      removeEventListener('online', seen);
    };
  }, [connection, key]);
  return { ...state.current, refresh: () => refresh.current() };
}
