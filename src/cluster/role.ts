import type { Cluster } from 'node:cluster';
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';

/** This process in its `node:cluster`. */
export interface Role {
  readonly name: 'primary' | 'worker';
  /** The same for the primary and all its workers, and different from that of any other cluster on the host. */
  readonly cluster: string;
}

function clusterModule(): Cluster {
  return process.getBuiltinModule('node:cluster') as unknown as Cluster;
}

/** A thread of a process has no workers, and shares no port. */
function isMainThread(): boolean {
  return process.getBuiltinModule('node:worker_threads').isMainThread;
}

/**
 * The role of this process as a worker, which is known from the start. A process without a channel to a parent is none,
 * and need not load a module to know that.
 */
export function workerRole(): Role | undefined {
  const isWorker = process.channel !== undefined && clusterModule().isWorker && isMainThread();
  return isWorker ? role('worker', process.ppid) : undefined;
}

const listeners = new Set<(role: Role) => void>();

/**
 * Calls back once this process forks workers, or at once where it has some already. Loads `node:cluster`, which takes
 * milliseconds in a process that listens nowhere; one that listens has it. Returns a function that unsubscribes.
 */
export function onBecomingPrimary(listener: (role: Role) => void): () => void {
  const cluster = clusterModule();
  if (!cluster.isPrimary || !isMainThread()) return () => {};
  if (Object.keys(cluster.workers ?? {}).length > 0) {
    listener(role('primary', process.pid));
    return () => {};
  }
  // One listener for all: an application that counts those of its cluster finds one of ours.
  if (listeners.size === 0) cluster.once('fork', becomePrimary);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) cluster.off('fork', becomePrimary);
  };
}

function becomePrimary(): void {
  const all = [...listeners];
  listeners.clear();
  for (const listener of all) listener(role('primary', process.pid));
}

function role(name: Role['name'], primary: number): Role {
  const { pm_id, namespace = '', name: application = '' } = process.env;
  // PM2's daemon is the primary of every application that it runs in cluster mode.
  const managed = pm_id === undefined ? [] : [namespace, application];
  // Containers may share a temporary folder, and each has a process 1.
  const identity = JSON.stringify([hostname(), primary, ...managed]);
  return { name, cluster: createHash('sha256').update(identity).digest('hex').slice(0, 16) };
}
