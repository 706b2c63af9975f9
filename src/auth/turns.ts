interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

export interface TurnsOptions {
  /** Tasks that run at a time. */
  readonly most: number;
  /** Tasks of one key that run at a time. */
  readonly mostOfKey: number;
  /** Tasks of one key that wait at most. */
  readonly mostWaiting: number;
  /** What a task that cannot even wait rejects with. */
  readonly refuse: () => Error;
}

/**
 * Lets few tasks run at a time, and fewer of one key. The rest waits: the keys take turns, so that one with many tasks holds up
 * another for one task at most.
 */
export function createTurns({ most, mostOfKey, mostWaiting, refuse }: TurnsOptions) {
  /** In the order of their turns. */
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
