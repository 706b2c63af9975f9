/** Lets work run once at a time. A call while it runs shares that run. */
export function joining<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/**
 * Lets work run once at a time. A call while it runs gets the run after that, which all such calls share: it begins after the
 * call, so it sees whatever was there before it.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  return function run(): Promise<void> {
    if (running === undefined) {
      running = work().finally(() => {
        running = undefined;
      });
      return running;
    }
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return run();
      });
    return next;
  };
}

/** Returns a function that runs tasks one after another, in the order of the calls. */
export function inTurn(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const done = last.then(task);
    last = done.catch(() => {});
    return done;
  };
}

interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

interface TurnsOptions {
  readonly most: number;
  readonly mostOfKey: number;
  readonly mostWaiting: number;
  readonly refuse: () => Error;
}

/** Work of our own, beside that of keys: it comes next, however much of it waits. */
export const OURS = Symbol('ours');

/** Limits concurrent tasks, in total and per key. Keys take turns, so that the backlog of one does not delay another. */
export function createTurns({ most, mostOfKey, mostWaiting, refuse }: TurnsOptions) {
  /** Ordered by their next turn. */
  const queues = new Map<string | typeof OURS, Queue>();
  let running = 0;

  const mayRun = (queue: Queue) => running < most && queue.running < mostOfKey;

  function begin(queue: Queue): void {
    running += 1;
    queue.running += 1;
  }

  function end(key: string | typeof OURS, queue: Queue): void {
    running -= 1;
    queue.running -= 1;
    queues.delete(key);
    if (queue.running > 0 || queue.waiting.length > 0) queues.set(key, queue);
    for (const each of [OURS, ...queues.keys()] as const) {
      const next = queues.get(each);
      const start = next && mayRun(next) ? next.waiting.shift() : undefined;
      if (next === undefined || start === undefined) continue;
      queues.delete(each);
      queues.set(each, next);
      begin(next);
      start();
      return;
    }
  }

  return async <T>(key: string | typeof OURS, task: () => Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? { running: 0, waiting: [] };
    if (!mayRun(queue) && queue.waiting.length >= mostWaiting && key !== OURS) throw refuse();
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
