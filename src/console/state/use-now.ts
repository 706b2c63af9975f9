import { useEffect, useState } from 'preact/hooks';

const listeners = new Set<(now: number) => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The time in milliseconds since the epoch; the component is drawn again every second. One timer for all. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    listeners.add(setNow);
    timer ??= setInterval(tick, 1000);
    return () => {
      listeners.delete(setNow);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return now;
}

function tick(): void {
  if (document.hidden) return;
  const now = Date.now();
  for (const listener of listeners) listener(now);
}
