import { subscribe } from 'node:diagnostics_channel';
import type { Delay } from '../../wire/time/clock.ts';
import { isEntered } from './folder.ts';
import type { Role } from './role.ts';

/** How often a process that has launched others looks whether one of them needs it, in milliseconds. */
const LOOK_MS = 500;

const looks = new Set<() => void>();
let hasLaunched = false;

/** From now on, notices whether this process launches others. */
export function watchLaunches(): void {
  subscribe('child_process', () => {
    if (hasLaunched) return;
    hasLaunched = true;
    for (const look of looks) look();
  });
}

/**
 * Calls back once a launched process has found the port of this one taken, and so entered the folder of their cluster. A process
 * that launches none never looks. Returns a function that stops.
 */
export function onEntered(role: Role, delay: Delay, listener: (role: Role) => void): () => void {
  let cancel = () => {};
  const look = () => {
    if (isEntered(role.cluster)) listener(role);
    else cancel = delay(LOOK_MS, look);
  };
  looks.add(look);
  if (hasLaunched) look();
  return () => {
    looks.delete(look);
    cancel();
  };
}
