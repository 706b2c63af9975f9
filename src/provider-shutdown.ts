import { withDeadline } from './deadline.ts';

/** Longest that a provider's shutdown waits, milliseconds. */
const DEADLINE_MS = 3000;

const TASKS = new WeakMap<object, Set<() => Promise<void>>>();

/**
 * Runs `task` before `provider` shuts down, and makes the shutdown wait for it. `NodeSDK.shutdown()` shuts its providers
 * down and notifies no instrumentation, so what is logged last would come too late. To add a task again does nothing. A
 * provider that cannot be shut down, such as the API's stand-in, is left alone.
 * @returns a function that removes the task
 */
export function beforeShutdown(provider: unknown, task: () => Promise<void>): () => void {
  const tasks = tasksOf(provider);
  tasks?.add(task);
  return () => void tasks?.delete(task);
}

function tasksOf(provider: unknown): Set<() => Promise<void>> | undefined {
  if (!isStoppable(provider)) return undefined;
  const known = TASKS.get(provider);
  if (known !== undefined) return known;
  const tasks = new Set<() => Promise<void>>();
  const shutdown = provider.shutdown;
  const replaced = Reflect.set(provider, 'shutdown', async (...options: unknown[]) => {
    await withDeadline(Promise.allSettled([...tasks].map((task) => task())), DEADLINE_MS);
    return shutdown.apply(provider, options);
  });
  if (!replaced) return undefined;
  TASKS.set(provider, tasks);
  return tasks;
}

interface Stoppable {
  shutdown(...options: unknown[]): Promise<void>;
}

/** Whether it is the provider of an SDK, not the API's stand-in. */
export function isStoppable(provider: unknown): provider is Stoppable {
  return (
    typeof provider === 'object' &&
    provider !== null &&
    'shutdown' in provider &&
    typeof provider.shutdown === 'function'
  );
}
