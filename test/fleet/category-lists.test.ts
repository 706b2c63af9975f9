import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetCategories } from '../../src/control/fleet/categories.ts';
import type { Instance } from '../../src/store/fleet.ts';
import type { ListedCategory } from '../../src/wire/category-list.ts';

/** The lists of a fleet, with counts of what was asked of them. */
function lists() {
  const kept = new Map<string, string>();
  const counts = { published: 0, read: 0 };
  const store = {
    async publish(id: string, list: string) {
      counts.published += 1;
      kept.set(id, list);
    },
    async read(ids: readonly string[]) {
      counts.read += ids.length;
      return new Map(ids.flatMap((id) => (kept.has(id) ? [[id, kept.get(id)!] as const] : [])));
    },
  };
  return { kept, counts, store };
}

function listed(...names: string[]): ListedCategory[] {
  return names.map((name) => ({ name, description: '', defaultEnabled: false }));
}

/** Lists that were found malformed. */
let malformed = 0;

function joining(store: ReturnType<typeof lists>['store'], selfId: string, own: () => ListedCategory[]) {
  return new FleetCategories({
    store,
    selfId: () => selfId,
    own,
    sourceOf: () => undefined,
    malformed: () => void malformed++,
  });
}

function instance(id: string, categoryDigest?: string): Instance {
  const digest = categoryDigest === undefined ? {} : { categoryDigest };
  return { id, host: 'host', pid: 1, service: 'shop', startedAt: 0, ...digest };
}

test('a list is written when it changes, not with every announcement', async () => {
  const { store, counts } = lists();
  let own = listed('A');
  const categories = joining(store, 'self', () => own);
  const moved: boolean[] = [];
  for (let second = 0; second < 10; second += 1) {
    if (second === 5) own = listed('A', 'B');
    moved.push(await categories.announced('history', second * 1000));
  }
  assert.equal(counts.published, 2);
  assert.deepEqual(
    moved.flatMap((has, second) => (has ? [second] : [])),
    [0, 5],
  );
});

test('a list is written again where the store may have dropped it', async () => {
  const { store, counts } = lists();
  const own = listed('A');
  const categories = joining(store, 'self', () => own);
  await categories.announced('history', 0);
  await categories.announced('history', 1000);
  assert.equal(counts.published, 1);
  await categories.announced('history', 6000);
  assert.equal(counts.published, 2, 'after a silence in which others count it as gone');
  await categories.announced('another history', 7000);
  assert.equal(counts.published, 3, 'after a loss of the store');
});

test('of a thousand processes with the same categories one list is read, once', async () => {
  const { store, counts } = lists();
  const own = listed('A', 'B');
  const digests = await Promise.all(
    Array.from({ length: 1000 }, async (_, index) => {
      const other = joining(store, `p-${index}`, () => own);
      await other.announced('history', 0);
      return instance(`p-${index}`, other.digest);
    }),
  );
  const categories = joining(store, 'self', () => listed('A'));
  const others = await categories.read(digests);
  assert.deepEqual([others?.processes, others?.categories.get('B')?.having], [1000, 1000]);
  assert.equal(await categories.read(digests), undefined, 'nothing changed');
  assert.equal(counts.read, 1);
});

test('processes of an older release, and lists that are malformed, are left out and not called without', async () => {
  const { store, kept } = lists();
  const new1 = joining(store, 'new', () => listed('A'));
  await new1.announced('history', 0);
  kept.set('broken', '[{"name":"not a name"}]');
  const instances = [instance('old'), instance('new', new1.digest), instance('broken', 'digest')];
  const categories = joining(store, 'self', () => listed('A'));
  const others = await categories.read(instances);
  assert.deepEqual([others?.processes, [...(others?.categories.keys() ?? [])], malformed], [1, ['A'], 1]);
  assert.deepEqual(
    instances.map((each) => categories.has(each, ['A'])),
    [true, true, true],
  );
  assert.deepEqual(
    instances.map((each) => categories.has(each, ['Z'])),
    [true, false, true],
  );
});

test('the description of the process with the lowest id counts, in whatever order they are read', async () => {
  const { store } = lists();
  const instances: Instance[] = [];
  for (const id of ['b', 'a']) {
    const own = listed('A').map((category) => ({ ...category, description: `of ${id}` }));
    const other = joining(store, id, () => own);
    await other.announced('history', 0);
    instances.push(instance(id, other.digest));
  }
  for (const order of [instances, instances.toReversed()]) {
    const others = await joining(store, 'self', () => []).read(order);
    assert.equal(others?.categories.get('A')?.description, 'of a');
  }
});

test('the union holds 4,096 categories, and descriptions are cut', async () => {
  const { store, kept } = lists();
  const many = (prefix: string) => listed(...Array.from({ length: 4096 }, (_, index) => `${prefix}_${index}`));
  const instances: Instance[] = [];
  for (const id of ['one', 'two']) {
    const list = many(id.toUpperCase()).map((category) => ({ ...category, description: 'd'.repeat(10_000) }));
    const other = joining(store, id, () => list);
    await other.announced('history', 0);
    instances.push(instance(id, other.digest));
  }
  const others = await joining(store, 'self', () => []).read(instances);
  assert.deepEqual([others?.processes, others?.categories.size], [2, 4096]);
  assert.ok((kept.get('one')?.length ?? 0) < 2_000_000);
});
