import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ScopeState, StateStore, StoreReset } from '../../src/store/state-store.ts';
import { atMost } from '../support/at-most.ts';
import { ownTime } from '../support/own-time.ts';
import { PASSWORD } from './redis-server.ts';

/** Every process is back within this time of the store's return. */
export const CONVERGED_MS = atMost(5_000);
/** On a busy machine a connection may be broken anew before it was of use. */
export const PATIENCE_MS = 30_000;
/** An answer is given within this time, whatever the store does. */
export const ANSWERED_MS = atMost(2_000);

/** A handle as a process holds it, with all that it was told. */
export interface Follower {
  readonly store: StateStore;
  readonly heard: Map<string, ScopeState>;
  readonly resets: Pick<StoreReset, 'reason'>[];
}

export async function follow(store: StateStore): Promise<Follower> {
  const follower: Follower = { store, heard: new Map(), resets: [] };
  store.subscribe((scope, state) => follower.heard.set(scope, state));
  store.onReset?.(({ reason }) => follower.resets.push({ reason }));
  await eventually(() => store.load(), PATIENCE_MS);
  return follower;
}

/** What is answered in time. */
export async function soon<T>(work: Promise<T>): Promise<T> {
  const began = ownTime();
  const result = await work;
  const took = ownTime() - began;
  assert.ok(took < ANSWERED_MS, `took ${Math.round(took)} ms`);
  return result;
}

export function rejectsSoon(work: Promise<unknown>): Promise<void> {
  const told = (error: unknown) => {
    assert.ok(!String(error).includes(PASSWORD));
    return true;
  };
  return soon(assert.rejects(work, told));
}

/** Asks five times, and ends as the last one does: one request may ask a store for several things. */
export async function oneAfterTheOther<T>(work: () => Promise<T>): Promise<T> {
  for (let done = 1; done < 5; done += 1) {
    await work().catch(() => {});
    await sleep(50);
  }
  return work();
}

/** Tries until the store answers again; resolves to the result. */
export async function eventually<T>(work: () => Promise<T>, ms = CONVERGED_MS): Promise<T> {
  const deadline = ownTime() + ms;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (ownTime() > deadline) throw error;
      await sleep(20);
    }
  }
}
