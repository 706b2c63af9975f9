import type { Cluster } from 'node:cluster';
import { createHash } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import type { Delay } from '../../wire/time/clock.ts';
import { isEntered } from './folder.ts';

export type ClusterId = string;

function clusterModule(): Cluster {
  return process.getBuiltinModule('node:cluster') as unknown as Cluster;
}

/** Worker threads cannot be part of a cluster. */
function isMainThread(): boolean {
  return process.getBuiltinModule('node:worker_threads').isMainThread;
}

/** The cluster that this process is a worker of, or `undefined`. Loads `node:cluster` only if there is a channel to a parent. */
export function clusterOfWorker(): ClusterId | undefined {
  const isWorker = process.channel !== undefined && clusterModule().isWorker && isMainThread();
  return isWorker ? idOf(process.ppid) : undefined;
}

const listeners = new Set<(own: ClusterId) => void>();

/**
 * Calls back when this process forks its first worker, or at once if it has workers. Loads `node:cluster`, which takes
 * milliseconds in a process that does not listen. Returns a function that unsubscribes.
 */
export function onBecomingPrimary(listener: (own: ClusterId) => void): () => void {
  const cluster = clusterModule();
  if (!cluster.isPrimary || !isMainThread()) return () => {};
  if (Object.keys(cluster.workers ?? {}).length > 0) {
    listener(idOf(process.pid));
    return () => {};
  }
  // Adds a single listener to the cluster, whose listeners an application may count.
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
  for (const listener of all) listener(idOf(process.pid));
}

/** Variable with the process id of the first ancestor under `register`. Launched processes inherit it. */
const LAUNCHED_BY = 'RDCP_LAUNCHED_BY';

/** Marks this process as the first for those that it launches, unless one of its ancestors is. */
export function markLauncher(env: NodeJS.ProcessEnv): void {
  env[LAUNCHED_BY] ||= String(process.pid);
}

/**
 * The cluster of a launcher and the processes that it launches, as far as they want the same address; `undefined` outside of
 * `register`.
 */
export function clusterOfLauncher(wanted: string): ClusterId | undefined {
  const launcher = process.env[LAUNCHED_BY];
  return launcher && isMainThread() ? idOf(launcher, wanted) : undefined;
}

export function isLaunched(): boolean {
  return process.env[LAUNCHED_BY] !== String(process.pid);
}

function idOf(primary: number | string, wanted?: string): ClusterId {
  const { pm_id, namespace = '', name: application = '' } = process.env;
  // PM2's daemon is the primary of all its applications in cluster mode.
  const managed = pm_id === undefined ? [] : [namespace, application];
  // Containers may share a temporary folder, and each has a process with pid 1.
  const identity = JSON.stringify([hostname(), primary, ...managed, ...(wanted === undefined ? [] : [wanted])]);
  return createHash('sha256').update(identity).digest('hex').slice(0, 16);
}

/** How often a process that has launched others looks whether one of them needs it, in milliseconds. */
const LOOK_MS = 500;

const launch = Promise.withResolvers<void>();

/** From now on, notices whether this process launches others. */
export function watchLaunches(): void {
  subscribe('child_process', () => launch.resolve());
}

/**
 * Calls back once a launched process has found the port of this one taken, and so entered the folder of their cluster. A process
 * that launches none never looks. Returns a function that stops.
 */
export function onEntered(cluster: ClusterId, delay: Delay, listener: (cluster: ClusterId) => void): () => void {
  let cancel = () => {};
  let check = () => {
    if (isEntered(cluster)) listener(cluster);
    else cancel = delay(LOOK_MS, check);
  };
  void launch.promise.then(() => check());
  return () => {
    check = () => {};
    cancel();
  };
}
