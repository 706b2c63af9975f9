import assert from 'node:assert/strict';
import { type FleetStore, GONE_MS, type Instance } from '../../../src/store/fleet.ts';
import type { Position } from '../../../src/store/state-store.ts';
import { GLOBAL_SCOPE, type StateStore } from '../../../src/store/state-store.ts';
import type { CallFigures } from '../../../src/wire/member-calls.ts';
import { countOf, fleetOf } from '../../support/on-records.ts';
import { auditEntry, change, NOW, until } from './samples.ts';
import type { AddCase } from './suite.ts';

const instance = (id: string): Instance => ({
  id,
  host: 'host-a',
  pid: 4711,
  service: 'shop “east”',
  version: '1.2.3',
  startedAt: NOW,
});

/** The part of the contract that is about the processes that share a store. */
export function fleetStoreContract(add: AddCase): void {
  interface Followed {
    readonly store: StateStore;
    readonly fleet: FleetStore;
    /** Opens a further handle that hears of changes, as a process does. */
    readonly follow: () => Promise<StateStore>;
  }
  const test = (name: string, run: (followed: Followed) => unknown) =>
    add(name, async ({ store, open }) => {
      await listen(store);
      await run({ store, fleet: fleetOf(store), follow: async () => listen(await open()) });
    });

  test('an instance is seen by all as it announced itself, until it withdraws', async ({ fleet, follow }) => {
    const other = fleetOf(await follow());
    await fleet.announce(instance('a'), undefined);
    await other.announce(instance('b'), { history: (await other.look()).current.history, revision: 0 });
    for (const each of [fleet, other]) {
      const seen = (await each.look()).instances.toSorted((x, y) => (x.id < y.id ? -1 : 1));
      assert.deepEqual(
        seen.map(({ silentFor: _, goneAfter: __, applied, ...rest }) => [rest, applied?.revision]),
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

  test('the calls that an instance announced last are seen with the second announcement at the latest, until it withdraws', async ({
    fleet,
    follow,
  }) => {
    const other = fleetOf(await follow());
    const applied = { history: (await fleet.look()).current.history, revision: 0 };
    const many = Array.from({ length: 4096 }, (_, index): CallFigures => [`C_${index}`, 2 ** 52, 0.123, 'acme']);
    const seen = async () => new Map((await other.look()).instances.map(({ id, calls }) => [id, calls]));
    await fleet.announce(instance('silent'), applied);
    for (const figures of [[], [['ORDERS', 5, 0.5]], [['ORDERS', 6, 0.6]], many] as const) {
      await fleet.announce({ ...instance('a'), calls: { figures } }, applied);
      await fleet.announce({ ...instance('a'), calls: { figures } }, applied);
      assert.deepEqual((await seen()).get('a'), { figures });
    }
    await fleet.announce({ ...instance('b'), calls: { figures: [], cut: true } }, applied);
    assert.deepEqual((await seen()).get('b'), { figures: [], cut: true });
    assert.equal((await seen()).get('silent'), undefined);
    await fleet.withdraw('a');
    assert.deepEqual([...(await seen()).keys()].sort(), ['b', 'silent']);
  });

  test('the revision of the store rises by one with every change of any scope, and with nothing else', async ({
    store,
    fleet,
  }) => {
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

  test('a handle reaches the position of every change, its own and those of others, and calls back', async ({
    store,
    fleet,
    follow,
  }) => {
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
    assert.ok(moved >= 2, `called ${moved} times`);
    stop();
    const before = moved;
    await other.commit(change('other', 1, {}));
    await until(() => fleet.position()?.revision === 4, 'one more change');
    assert.equal(moved, before);
  });

  test('at its position a handle has passed every change to its subscribers', async ({ store, fleet, follow }) => {
    const heard = new Map<string, number>();
    store.subscribe((scope, { revision }) => heard.set(scope, revision));
    const seen: [number | undefined, number | undefined][] = [];
    fleet.onMoved(() => seen.push([fleet.position()?.revision, heard.get('acme')]));
    const other = await follow();
    for (let revision = 0; revision < 5; revision += 1) await other.commit(change('acme', revision, {}));
    await until(() => fleet.position()?.revision === 5, 'the last change');
    for (const [position, revision] of seen) assert.equal(revision, position);
  });

  test('the heartbeats say who is there and what each has applied', async ({ store, fleet, follow }) => {
    const count = async (self: string, target?: Position) => {
      const { instances, applied, silent, current } = await countOf(fleet, self, target);
      assert.equal(silent, 0);
      return [instances, applied, current.revision];
    };
    assert.deepEqual(await count('a'), [0, 0, 0]);
    const other = fleetOf(await follow());
    await store.commit(change('acme', 0, {}));
    const first = (await fleet.look()).current;
    await until(() => other.position()?.revision === 1, 'the first change at the other handle');
    await fleet.announce(instance('a'), first);
    await other.announce(instance('b'), other.position());
    await other.announce(instance('c'), undefined);
    assert.deepEqual(await count('a'), [2, 1, 1]);
    assert.deepEqual(await count('nobody'), [3, 2, 1]);
    await store.commit(change('acme', 1, {}));
    assert.deepEqual(await count('a'), [2, 0, 2]);
    assert.deepEqual(await count('a', first), [2, 1, 2]);
    assert.deepEqual(await count('a', { history: 'another', revision: 1 }), [2, 0, 2]);
    await until(() => other.position()?.revision === 2, 'the second change at the other handle');
    for (const id of ['b', 'c']) await other.announce(instance(id), other.position());
    assert.deepEqual(await count('a'), [2, 2, 2]);
    await other.withdraw('b');
    assert.deepEqual(await count('a'), [1, 1, 2]);
  });
}

/** The part of the contract that is about the categories of these processes. */
export function categoryListsContract(test: AddCase): void {
  test('the newest list of each instance is kept until it withdraws', async ({ store, open }) => {
    const fleet = fleetOf(store);
    const other = fleetOf(await open());
    for (const id of ['a', 'b']) await fleet.announce(instance(id), undefined);
    await fleet.categories.publish('a', 'first');
    await other.categories.publish('b', '[“β”]');
    await other.categories.publish('a', 'second');
    const read = async () => [...(await fleet.categories.read(['a', 'nobody', 'b']))].sort();
    assert.deepEqual(await read(), [
      ['a', 'second'],
      ['b', '[“β”]'],
    ]);
    await other.withdraw('a');
    assert.deepEqual(await read(), [['b', '[“β”]']]);
  });

  test('an instance is seen with the digest that it announced, together with an acknowledgement too', async ({
    store,
  }) => {
    const fleet = fleetOf(store);
    await fleet.announce(instance('a'), undefined);
    await fleet.announce({ ...instance('a'), categoryDigest: 'b64-digest' }, (await fleet.look()).current);
    const { instances } = await fleet.look();
    assert.deepEqual(
      instances.map(({ categoryDigest }) => categoryDigest),
      ['b64-digest'],
    );
  });

  test('many lists, and long ones, are read at once', async ({ store }) => {
    const fleet = fleetOf(store);
    const ids = Array.from({ length: 250 }, (_, index) => `instance-${index}`);
    const long = 'x'.repeat(100_000);
    await Promise.all(ids.map((id) => fleet.announce(instance(id), undefined)));
    for (const [index, id] of ids.entries()) await fleet.categories.publish(id, index === 0 ? long : id);
    const found = await fleet.categories.read(ids);
    assert.equal(found.size, 250);
    assert.deepEqual([found.get('instance-0')?.length, found.get('instance-249')], [100_000, 'instance-249']);
    assert.equal((await fleet.categories.read([])).size, 0);
  });
}

async function listen(opened: StateStore): Promise<StateStore> {
  await opened.load();
  opened.subscribe(() => {});
  return opened;
}
