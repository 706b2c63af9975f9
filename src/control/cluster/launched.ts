import { subscribe } from 'node:diagnostics_channel';
import type { Delay } from '../../wire/time/clock.ts';
import { isEntered } from './folder.ts';
import type { ClusterId } from './role.ts';

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
