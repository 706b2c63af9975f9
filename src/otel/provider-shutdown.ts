import { withDeadline } from '../wire/time/deadline.ts';

/** Longest delay of a provider's shutdown, in milliseconds. */
const DEADLINE_MS = 3000;

const TASKS = new WeakMap<object, Set<() => Promise<void>>>();

/**
 * Runs `task` before `provider` shuts down, and delays the shutdown until it is done. `NodeSDK.shutdown()` does not notify
 * instrumentations, so their last log records would be lost. Adding a task twice has no effect. Does nothing for a provider
 * without `shutdown`, such as the API's proxy.
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

/** True for the provider of an SDK, false for the API's proxy. */
export function isStoppable(provider: unknown): provider is Stoppable {
  return (
    typeof provider === 'object' &&
    provider !== null &&
    'shutdown' in provider &&
    typeof provider.shutdown === 'function'
  );
}
