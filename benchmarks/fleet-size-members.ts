// Some of the members of the fleet that fleet-size.ts measures: store and fleet of a process each, without gate and endpoint.
// Each has a connection to the store of its own. Every member that applies a change keeps it, so that the end can be compared.

import { randomUUID } from 'node:crypto';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListedCategory } from '../src/wire/category-list.ts';
import { internals } from './measurement.ts';

const { createFleet, createFleetStore, openStore, systemClock, unrefInterval, unrefTimeout } = await internals();

const STARTED_AT = Date.now();

/** @returns a member that has joined */
export async function join(url: string, id: string, categories: readonly ListedCategory[] = []) {
  const store = openStore(url);
  // A service starts without its store when that is slow, and reads it later.
  const loaded = await store.load().catch(() => new Map());
  const revisions = new Map([...loaded].map(([scope, { revision }]) => [scope, revision]));
  store.subscribe((scope, { revision }) => revisions.set(scope, revision));
  const fleet = createFleet({
    store: createFleetStore(store, () => {})!,
    self: () => ({ id, host: 'benchmark', pid: process.pid, service: 'shop', startedAt: STARTED_AT }),
    categories: () => categories,
    calls: () => ({ figures: [] }),
    controlsEnd: () => undefined,
    sourceOf: () => undefined,
    malformed: () => undefined,
    others: () => undefined,
    current: () => true,
    acknowledgeTimeoutMs: 25_000,
    clock: systemClock,
    schedule: unrefInterval,
    delay: unrefTimeout,
    random: Math.random,
  });
  fleet.start();
  return { store, fleet, revisions };
}

if (process.argv[2] === 'members') {
  const [url = '', count = '', joinMs = ''] = process.argv.slice(3);
  // The store has a processor of its own, as on another host.
  setPriority(10);
  const members: Awaited<ReturnType<typeof join>>[] = [];

  /** Starts all members, one after the other, in place of those that run. */
  const start = async () => {
    for (let index = 0; index < Number(count); index += 1) {
      await members[index]?.fleet.close();
      await members[index]?.store.close();
      members[index] = await join(url, randomUUID());
      await sleep(Number(joinMs) / Number(count));
    }
  };
  process.on('message', async (message) => {
    if (message !== 'revisions') await start();
    process.send?.(members.map(({ revisions }) => revisions.get('acme') ?? 0));
  });
  process.on('disconnect', () => process.exit());
}
