interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

export interface TurnsOptions {
  /** Tasks of one key that run at a time. */
  readonly running: number;
  /** Tasks of one key that wait at most. */
  readonly waiting: number;
  /** What a task that cannot even wait rejects with. */
  readonly refuse: () => Error;
}

/** Lets few tasks of one key run at a time, so that none of them takes the room of other keys; the rest waits in order. */
export function createTurns({ running, waiting, refuse }: TurnsOptions) {
  const queues = new Map<string, Queue>();

  return async <T>(key: string, task: () => Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? { running: 0, waiting: [] };
    queues.set(key, queue);
    if (queue.running < running) {
      queue.running += 1;
    } else {
      if (queue.waiting.length >= waiting) throw refuse();
      await new Promise<void>((resolve) => queue.waiting.push(resolve));
    }
    try {
      return await task();
    } finally {
      const next = queue.waiting.shift();
      // Whoever waited takes over the place.
      if (next !== undefined) next();
      else queue.running -= 1;
      if (queue.running === 0) queues.delete(key);
    }
  };
}
