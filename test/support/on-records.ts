import assert from 'node:assert/strict';
import { createFleetStore, type FleetStore, GONE_MS } from '../../src/store/fleet.ts';
import type { Position, StateStore } from '../../src/store/state-store.ts';
import { TokenRecords } from '../../src/store/tokens.ts';

const fleets = new WeakMap<StateStore, FleetStore>();

/** The fleet of a shared store, the same one for each handle. */
export function fleetOf(store: StateStore): FleetStore {
  const known = fleets.get(store) ?? createFleetStore(store, () => {});
  assert.ok(known, 'a shared store knows its processes');
  fleets.set(store, known);
  return known;
}

/** How many others are heard of, how many of them have applied a change, and how many are silent. */
export async function countOf(fleet: FleetStore, self: string, target?: Position) {
  const { current, instances } = await fleet.heartbeats();
  const { history, revision } = target ?? current;
  const others = instances.filter(({ id }) => id !== self);
  const heard = others.filter(({ silentFor, goneAfter = GONE_MS }) => silentFor <= goneAfter);
  const applied = heard.filter((each) => each.applied?.history === history && each.applied.revision >= revision).length;
  return { current, instances: heard.length, applied, silent: others.length - heard.length };
}

/** The records of issued tokens in a store. */
export function tokensOf({ records }: StateStore): TokenRecords {
  assert.ok(records, 'the store keeps records');
  return new TokenRecords(records);
}
