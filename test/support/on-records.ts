import assert from 'node:assert/strict';
import { createFleetStore, type FleetStore } from '../../src/store/fleet.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { TokenRecords } from '../../src/store/tokens.ts';

const fleets = new WeakMap<StateStore, FleetStore>();

/** The fleet of a shared store, the same one for each handle. */
export function fleetOf(store: StateStore): FleetStore {
  const known = fleets.get(store) ?? createFleetStore(store, () => {});
  assert.ok(known, 'a shared store knows its processes');
  fleets.set(store, known);
  return known;
}

/** The records of issued tokens in a store. */
export function tokensOf({ records }: StateStore): TokenRecords {
  assert.ok(records, 'the store keeps records');
  return new TokenRecords(records);
}
