import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { type CommitResult, GLOBAL_SCOPE, type ScopeState, type Setting } from '../../../src/store/state-store.ts';
import { auditTrailContract } from './audit.ts';
import { categoryListsContract, fleetStoreContract } from './fleet.ts';
import { messageStoreContract } from './messages.ts';
import { recordStoreContract } from './records.ts';
import { auditEntry, auditIds, change, committedRevision, NOW, replayRecord, until } from './samples.ts';
import { type AddCase, type StoreFixture, testsOn } from './suite.ts';
import { tokenRecordsContract } from './tokens.ts';

/** The contract of every {@link StateStore}, as tests; `create` makes state of its own for each of them, with nothing in it. */
export function stateStoreContract(
  name: string,
  shared: boolean,
  create: () => Promise<StoreFixture>,
  { records = true } = {},
): void {
  const group = testsOn(create);
  describe(`${name} keeps the contract of a state store:`, () => {
    keepsState(group('state: what is kept'), { shared, records });
    comparesAndSets(group('state: compare-and-set'));
    answersRepeats(group('state: repeats'));
    closes(group('state: closing'));
    auditTrailContract(group('audit trail'));
    if (records) {
      recordStoreContract(group('records'));
      tokenRecordsContract(group('token records'));
    }
    if (!shared) return;
    hearsOfOthers(group('state: changes of others'));
    fleetStoreContract(group('the fleet'));
    categoryListsContract(group('categories'));
    messageStoreContract(group('messages'));
  });
}

function keepsState(test: AddCase, { shared, records }: { shared: boolean; records: boolean }): void {
  test('a store without state loads no scope, and answers', async ({ store }) => {
    assert.equal(store.shared, shared);
    assert.equal(store.records !== undefined, records);
    assert.equal(store.positions !== undefined, shared);
    assert.equal((await store.load()).size, 0);
    assert.equal(await store.newestAudit(), undefined);
    assert.deepEqual(await store.queryAudit({ limit: 10 }), { entries: [] });
    await store.check();
  });

  test('what was committed is loaded, layer by layer', async ({ store }) => {
    const settings: Record<string, Setting> = {
      ON: { permanent: true },
      OFF: { permanent: false },
      MADE: { permanent: true, by: { userId: 'anna', reason: 'why', at: NOW } },
      OVERLAY: { temporary: { enabled: true, expiresAt: NOW + 1 } },
      LEVELS: { permanent: true, level: 'info', temporary: { enabled: true, expiresAt: NOW + 1, level: 'warn' } },
      BOTH: { permanent: true, temporary: { enabled: false, expiresAt: NOW + 86_400_000 } },
      'X-CUSTOM-NAME': { permanent: false, temporary: { enabled: true, expiresAt: NOW + 5 } },
    };
    assert.equal(committedRevision(await store.commit(change(GLOBAL_SCOPE, 0, settings))), 1);

    const loaded = (await store.load()).get(GLOBAL_SCOPE);
    assert.equal(loaded?.revision, 1);
    assert.equal(loaded?.changedAt, NOW);
    assert.deepEqual(new Map(loaded?.settings), new Map(Object.entries(settings)));
  });

  test('activations are kept with their scope, and replaced with its settings', async ({ store }) => {
    const activations = [
      {
        id: 'activation-1',
        categories: ['A', 'X-CUSTOM-NAME'],
        target: { match: { 'user.id': '42', 'url.path': '/orders/*' } },
        filter: { where: 'rows > 1000', text: 'query*', sample: 0.01 },
        budget: { callsPerSecond: 5 },
        expiresAt: NOW + 60_000,
        by: { userId: 'anna', reason: 'why', at: NOW },
        maskKey: 'key',
      },
      { id: 'activation-2', categories: ['B'], budget: false as const, expiresAt: NOW + 1, maskKey: 'other' },
    ];
    const settings = new Map([['A', { permanent: true }]]);
    const write = (expectedRevision: number, state: object) =>
      store.commit({ state: { scope: 'acme', expectedRevision, settings, ...state }, audit: auditEntry(), now: NOW });
    await write(0, { activations });
    const loaded = (await store.load()).get('acme');
    assert.deepEqual(loaded?.activations, activations);
    assert.deepEqual(loaded?.settings, settings);
    await write(1, { activations: activations.slice(1) });
    assert.deepEqual((await store.load()).get('acme')?.activations, activations.slice(1));
    await write(2, {});
    assert.deepEqual((await store.load()).get('acme')?.activations ?? [], []);
  });

  test('a commit replaces the settings of its scope, and of no other', async ({ store }) => {
    await store.commit(change('acme', 0, { A: { permanent: true }, B: { permanent: true } }));
    await store.commit(change('other', 0, { A: { permanent: false } }));
    await store.commit(change('acme', 1, { B: { permanent: false } }));

    const loaded = await store.load();
    assert.deepEqual([...loaded.keys()].sort(), ['acme', 'other']);
    assert.deepEqual([...(loaded.get('acme') as ScopeState).settings], [['B', { permanent: false }]]);
    assert.deepEqual([...(loaded.get('other') as ScopeState).settings], [['A', { permanent: false }]]);
  });

  test('revisions rise by every commit, also past one that leaves no settings', async ({ store }) => {
    for (const [expected, settings] of [{ A: { permanent: true } }, {}, { B: { permanent: true } }, {}].entries()) {
      const result = await store.commit(change('acme', expected, settings));
      assert.equal(committedRevision(result), expected + 1);
    }
    const loaded = (await store.load()).get('acme');
    assert.equal(loaded?.revision, 4);
    assert.equal(loaded?.settings.size, 0);
  });

  test('a commit of the trail alone changes no scope', async ({ store }) => {
    assert.deepEqual(await store.commit({ audit: auditEntry(), now: NOW }), { outcome: 'committed' });
    assert.equal((await store.load()).size, 0);
    assert.equal((await auditIds(store)).length, 1);
  });

  test('4,096 categories of one scope, with both layers, come back whole', async ({ store }) => {
    const settings = Object.fromEntries(
      Array.from({ length: 4096 }, (_, index) => [
        `CATEGORY_${String(index).padStart(4, '0')}_${'X'.repeat(50)}`,
        { permanent: index % 2 === 0, temporary: { enabled: index % 3 === 0, expiresAt: NOW + index } },
      ]),
    );
    await store.commit(change(GLOBAL_SCOPE, 0, settings));
    const loaded = (await store.load()).get(GLOBAL_SCOPE);
    assert.deepEqual(new Map(loaded?.settings), new Map(Object.entries(settings)));
  });

  test('scope keys that are odd but legal stay apart', async ({ store }) => {
    const keys = ['*', '.', '..', '-', '_', '__proto__', 'constructor', 'a', 'A', '0', '00', 'x'.repeat(255), 'n/a'];
    for (const [index, key] of keys.entries()) {
      await store.commit(change(key, 0, { A: { permanent: true }, [`K${index}`]: { permanent: false } }));
    }
    const loaded = await store.load();
    assert.deepEqual([...loaded.keys()].sort(), [...keys].sort());
    for (const [index, key] of keys.entries()) {
      assert.deepEqual([...(loaded.get(key) as ScopeState).settings.keys()], ['A', `K${index}`], key);
    }
  });
}

function comparesAndSets(test: AddCase): void {
  test('a commit on an outdated revision is a conflict with the state in force, and writes nothing', async ({
    store,
  }) => {
    await store.commit(change('acme', 0, { A: { permanent: true } }));
    const before = await auditIds(store);

    const replay = replayRecord();
    const late = await store.commit(change('acme', 0, { A: { permanent: false } }, { replay, now: NOW + 1 }));

    assert.equal(late.outcome, 'conflict');
    const { current } = late as Extract<CommitResult, { outcome: 'conflict' }>;
    assert.equal(current.revision, 1);
    assert.equal(current.changedAt, NOW);
    assert.deepEqual([...current.settings], [['A', { permanent: true }]]);
    assert.deepEqual(await auditIds(store), before);
    assert.equal(await store.findReplay(replay.key, NOW), undefined);
    assert.equal((await store.load()).get('acme')?.revision, 1);
  });

  test('a revision that is ahead of the store is a conflict too', async ({ store }) => {
    const early = await store.commit(change('acme', 3, { A: { permanent: true } }));
    assert.equal(early.outcome, 'conflict');
    const { current } = early as Extract<CommitResult, { outcome: 'conflict' }>;
    assert.deepEqual({ revision: current.revision, size: current.settings.size }, { revision: 0, size: 0 });
    assert.deepEqual(await auditIds(store), []);
  });

  test('of commits made at once on one revision exactly one wins', async ({ store, open }) => {
    const other = await open();
    for (let revision = 0; revision < 5; revision += 1) {
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 === 0 ? store : other).commit(change('acme', revision, { [`BY_${index}`]: { permanent: true } })),
        ),
      );
      assert.deepEqual(results.map(({ outcome }) => outcome).sort(), [
        'committed',
        ...Array<string>(7).fill('conflict'),
      ]);
    }
    assert.equal((await store.load()).get('acme')?.revision, 5);
    assert.equal((await auditIds(store)).length, 5);
  });
}

function answersRepeats(test: AddCase): void {
  test('the answer kept for a request id is found until it expires', async ({ store }) => {
    const replay = replayRecord({ expiresAt: NOW + 300_000 });
    await store.commit(change('acme', 0, {}, { replay }));
    assert.deepEqual({ ...(await store.findReplay(replay.key, NOW)) }, replay);
    assert.deepEqual({ ...(await store.findReplay(replay.key, NOW + 299_999)) }, replay);
    assert.equal(await store.findReplay(replay.key, NOW + 300_000), undefined);
    assert.equal(await store.findReplay(`${replay.key}0`, NOW), undefined);
  });

  test('a commit under a taken request id writes nothing and returns the kept answer', async ({ store }) => {
    const replay = replayRecord();
    await store.commit(change('acme', 0, { A: { permanent: true } }, { replay }));
    const before = await auditIds(store);

    const second = replayRecord({ fingerprint: 'e'.repeat(64), response: '{}' });
    const repeated = await store.commit(change('acme', 1, {}, { replay: second, now: NOW + 1 }));

    assert.equal(repeated.outcome, 'replayed');
    assert.deepEqual({ ...(repeated as Extract<CommitResult, { outcome: 'replayed' }>).replay }, replay);
    assert.equal((await store.load()).get('acme')?.revision, 1);
    assert.deepEqual(await auditIds(store), before);
  });

  test('a repeat is answered before a conflict', async ({ store }) => {
    const replay = replayRecord();
    await store.commit(change('acme', 0, {}, { replay }));
    assert.equal((await store.commit(change('acme', 0, {}, { replay }))).outcome, 'replayed');
  });

  test('an expired request id is free again, and holds the new answer', async ({ store }) => {
    const replay = replayRecord({ expiresAt: NOW + 10 });
    await store.commit({ audit: auditEntry(), replay, now: NOW });
    const renewed = replayRecord({ response: '{"second":true}', expiresAt: NOW + 20 });
    assert.deepEqual(await store.commit({ audit: auditEntry(), replay: renewed, now: NOW + 10 }), {
      outcome: 'committed',
    });
    assert.deepEqual({ ...(await store.findReplay(replay.key, NOW + 10)) }, renewed);
  });

  test('of commits made at once under one request id exactly one takes effect', async ({ store, open }) => {
    const other = await open();
    const results = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        (index % 2 === 0 ? store : other).commit({
          audit: auditEntry(),
          replay: replayRecord({ response: String(index) }),
          now: NOW,
        }),
      ),
    );
    assert.equal(results.filter(({ outcome }) => outcome === 'committed').length, 1);
    assert.equal(results.filter(({ outcome }) => outcome === 'replayed').length, 5);
    assert.equal((await auditIds(store)).length, 1);
  });
}

function closes(test: AddCase): void {
  test('a closed store rejects instead of hanging, and can be closed again', async ({ store }) => {
    await store.close();
    await store.close();
    await assert.rejects(store.commit(change('acme', 0, {})));
    await assert.rejects(store.load());
    await assert.rejects(store.queryAudit({ limit: 1 }));
    await assert.rejects(store.newestAudit());
    await assert.rejects(store.findReplay('key', NOW));
    await assert.rejects(store.pruneAudit(NOW));
    await assert.rejects(store.check());
    if (store.positions !== undefined) await assert.rejects(store.positions.newest());
    if (store.records !== undefined) {
      await assert.rejects(store.records.get('session', ['key'], NOW));
      await assert.rejects(store.records.write([{ kind: 'session', key: 'key' }], NOW));
    }
  });
}

function hearsOfOthers(test: AddCase): void {
  test('a commit of another handle arrives, with the newest state of its scope', async ({ store, open }) => {
    const heard = new Map<string, ScopeState>();
    store.subscribe((scope, state) => heard.set(scope, state));
    const other = await open();

    await other.commit(change('acme', 0, { A: { permanent: true } }));
    await other.commit(change('acme', 1, { A: { permanent: false } }));
    await until(() => heard.get('acme')?.revision === 2, 'the second change of the other handle');
    assert.deepEqual([...(heard.get('acme') as ScopeState).settings], [['A', { permanent: false }]]);
    assert.equal(heard.get('acme')?.changedAt, NOW);

    await other.commit(change(GLOBAL_SCOPE, 0, { B: { temporary: { enabled: true, expiresAt: NOW + 9 } } }));
    await until(() => heard.has(GLOBAL_SCOPE), 'the change of another scope');
    const settings = heard.get(GLOBAL_SCOPE)?.settings;
    assert.deepEqual([...(settings ?? [])], [['B', { temporary: { enabled: true, expiresAt: NOW + 9 } }]]);
  });

  test('a change made between loading and subscribing arrives', async ({ store, open }) => {
    await store.load();
    const other = await open();
    await other.commit(change('acme', 0, {}));
    // Time enough to notice the change while there is no subscriber.
    await new Promise((resolve) => setTimeout(resolve, 30));
    const heard: string[] = [];
    store.subscribe((scope) => heard.push(scope));
    await until(() => heard.includes('acme'), 'the change');
  });

  test('nothing arrives once the subscription has ended', async ({ store, open }) => {
    const ended: string[] = [];
    const live: string[] = [];
    store.subscribe((scope) => ended.push(scope))();
    store.subscribe((scope) => live.push(scope));
    const other = await open();
    await other.commit(change('acme', 0, {}));
    await until(() => live.includes('acme'), 'the change, at the subscription that still runs');
    assert.deepEqual(ended, []);
  });

  test('a listener that throws does not affect the others', async ({ store, open }) => {
    const heard: string[] = [];
    store.subscribe(() => {
      throw new Error('a listener of the application');
    });
    store.subscribe((scope) => heard.push(scope));
    const other = await open();
    await other.commit(change('acme', 0, {}));
    await other.commit(change('other', 0, {}));
    await until(() => heard.includes('acme') && heard.includes('other'), 'both changes');
  });
}
