interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

export interface TurnsOptions {
  readonly most: number;
  readonly mostOfKey: number;
  readonly mostWaiting: number;
  readonly refuse: () => Error;
}

/** Limits concurrent tasks, in total and per key. Waiting tasks are started round-robin by key. */
export function createTurns({ most, mostOfKey, mostWaiting, refuse }: TurnsOptions) {
  /** Ordered by their next turn. */
  const queues = new Map<string, Queue>();
  let running = 0;

  const mayRun = (queue: Queue) => running < most && queue.running < mostOfKey;

  function begin(queue: Queue): void {
    running += 1;
    queue.running += 1;
  }

  function end(key: string, queue: Queue): void {
    running -= 1;
    queue.running -= 1;
    if (queue.running === 0 && queue.waiting.length === 0) queues.delete(key);
    for (const [each, next] of queues) {
      const start = mayRun(next) ? next.waiting.shift() : undefined;
      if (start === undefined) continue;
      queues.delete(each);
      queues.set(each, next);
      begin(next);
      start();
      return;
    }
  }

  return async <T>(key: string, task: () => Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? { running: 0, waiting: [] };
    if (!mayRun(queue) && queue.waiting.length >= mostWaiting) throw refuse();
    queues.set(key, queue);
    if (mayRun(queue)) begin(queue);
    else await new Promise<void>((resolve) => queue.waiting.push(resolve));
    try {
      return await task();
    } finally {
      end(key, queue);
    }
  };
}
