import assert from 'node:assert/strict';
import { type FleetStore, GONE_MS, type Instance, type Position } from '../store/fleet-store.ts';
import { GLOBAL_SCOPE, type StateStore } from '../store/state-store.ts';
import type { StoreFixture } from './fixture.ts';
import { auditEntry, change, NOW, until } from './samples.ts';
import type { Suite } from './suite.ts';

const instance = (id: string): Instance => ({
  id,
  host: 'host-a',
  pid: 4711,
  service: 'shop “east”',
  version: '1.2.3',
  startedAt: NOW,
});

/** What every shared store does for the processes that share it. */
export function fleetStoreContract(
  { describe, test, beforeEach, afterEach }: Suite,
  create: () => Promise<StoreFixture>,
): void {
  describe('the fleet', () => {
    let fixture: StoreFixture;
    let store: StateStore;
    let fleet: FleetStore;

    beforeEach(async () => {
      fixture = await create();
      store = await follow();
      fleet = fleetOf(store);
    });
    afterEach(() => fixture.dispose());

    /** A handle that hears of changes, as a process does. */
    async function follow(): Promise<StateStore> {
      const opened = await fixture.open();
      await opened.load();
      opened.subscribe(() => {});
      return opened;
    }

    test('nobody is there before somebody announced itself', async () => {
      const { current, instances } = await fleet.look();
      assert.deepEqual([current.revision, instances], [0, []]);
    });

    test('an instance is seen by all as it announced itself, until it withdraws', async () => {
      const other = fleetOf(await follow());
      await fleet.announce(instance('a'), undefined);
      await other.announce(instance('b'), { history: (await other.look()).current.history, revision: 0 });
      for (const each of [fleet, other]) {
        const seen = (await each.look()).instances.toSorted((x, y) => (x.id < y.id ? -1 : 1));
        assert.deepEqual(
          seen.map(({ silentFor: _, applied, ...rest }) => [rest, applied?.revision]),
          [
            [instance('a'), undefined],
            [instance('b'), 0],
          ],
        );
        for (const { silentFor } of seen) assert.ok(silentFor >= 0 && silentFor < GONE_MS);
      }
      await other.withdraw('a');
      assert.deepEqual(
        (await fleet.look()).instances.map(({ id }) => id),
        ['b'],
      );
    });

    test('the revision of the store rises by one with every change of any scope, and with nothing else', async () => {
      const seen: (Position | undefined)[] = [];
      for (const [scope, revision] of [
        ['acme', 0],
        [GLOBAL_SCOPE, 0],
        ['acme', 1],
      ] as const) {
        const result = await store.commit(change(scope, revision, {}));
        if (result.outcome === 'committed') seen.push(result.position);
      }
      await store.commit({ audit: auditEntry(), now: NOW });
      await store.commit(change('acme', 0, {}));
      assert.deepEqual(
        seen.map((position) => position?.revision),
        [1, 2, 3],
      );
      assert.deepEqual((await fleet.look()).current, seen.at(-1));
    });

    test('a handle comes to the position of every change, its own and those of others, and tells so', async () => {
      const other = await follow();
      let moved = 0;
      const stop = fleet.onMoved(() => {
        moved += 1;
      });
      await store.commit(change('acme', 0, {}));
      await until(() => fleet.position()?.revision === 1, 'its own change');
      await other.commit(change('acme', 1, {}));
      await other.commit(change('other', 0, {}));
      await until(() => fleet.position()?.revision === 3, 'the changes of the other handle');
      assert.deepEqual(fleet.position(), (await fleet.look()).current);
      assert.ok(moved >= 2, `told ${moved} times`);
      stop();
      const before = moved;
      await other.commit(change('other', 1, {}));
      await until(() => fleet.position()?.revision === 4, 'one more change');
      assert.equal(moved, before);
    });

    test('at its position a handle has told its subscribers everything', async () => {
      const heard = new Map<string, number>();
      store.subscribe((scope, { revision }) => heard.set(scope, revision));
      const told: [number | undefined, number | undefined][] = [];
      fleet.onMoved(() => told.push([fleet.position()?.revision, heard.get('acme')]));
      const other = await follow();
      for (let revision = 0; revision < 5; revision += 1) await other.commit(change('acme', revision, {}));
      await until(() => fleet.position()?.revision === 5, 'the last change');
      for (const [position, revision] of told) assert.equal(revision, position);
    });

    test('who changed something learns from a look, at the latest, that another has applied it', async () => {
      const other = await follow();
      const heard: number[] = [];
      fleet.onAnnounced((id, { revision }) => {
        if (id === 'b') heard.push(revision);
      });
      await store.commit(change('acme', 0, {}));
      await until(() => fleetOf(other).position()?.revision === 1, 'the change at the other handle');
      await fleetOf(other).announce(instance('b'), fleetOf(other).position());
      const [b] = (await fleet.look()).instances;
      assert.deepEqual([b?.id, b?.applied?.revision], ['b', 1]);
      for (const revision of heard) assert.equal(revision, 1);
    });
  });
}

function fleetOf({ fleet }: StateStore): FleetStore {
  assert.ok(fleet, 'a shared store knows its processes');
  return fleet;
}
