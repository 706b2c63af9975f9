import { useEffect, useRef, useState } from 'preact/hooks';
import { connection } from '../page.ts';
import type { Problem } from '../state/problem.ts';

interface Answer<T> {
  /** The newest answer; it stays while the next one fails. */
  readonly value?: T;
  readonly problem?: Problem | undefined;
  readonly isLoading: boolean;
  /** When the answer came, in milliseconds since the epoch. */
  readonly at?: number;
}

/**
 * Asks again and again while the page is visible; after a failure not before the server allows it.
 * @param key asks at once when it is another one
 * @param everyMs `undefined` asks once
 */
export function usePolled<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  { key, everyMs }: { readonly key?: unknown; readonly everyMs?: number } = {},
): Answer<T> & { readonly refresh: () => void } {
  const [answer, setAnswer] = useState<Answer<T>>({ isLoading: true });
  const refresh = useRef(() => {});
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAsking = false;
    const set = (change: Partial<Answer<T>>) => {
      if (!controller.signal.aborted) setAnswer((known) => ({ ...known, ...change }));
    };
    const run = async () => {
      if (isAsking || document.hidden) return;
      isAsking = true;
      clearTimeout(timer);
      set({ isLoading: true });
      let wait = everyMs;
      try {
        set({ value: await ask(controller.signal), problem: undefined, at: Date.now() });
      } catch (error) {
        const problem = connection.problemOf(error);
        if (problem.retryAt !== undefined) wait = Math.max(wait ?? 0, problem.retryAt - Date.now());
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
  }, [key]);
  return { ...answer, refresh: () => refresh.current() };
}
