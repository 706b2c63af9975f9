import assert from 'node:assert/strict';
import { type CommitResult, GLOBAL_SCOPE, type ScopeState, type StateStore } from '../store/state-store.ts';
import { auditTrailContract } from './audit.ts';
import type { StoreFixture } from './fixture.ts';
import { fleetStoreContract } from './fleet.ts';
import { messageStoreContract } from './messages.ts';
import { auditEntry, auditIds, change, committedRevision, NOW, replayRecord, until } from './samples.ts';
import { type ContractCase, collectCases, type Suite } from './suite.ts';
import { commitAllContract } from './together.ts';
import { tokenStoreContract } from './tokens.ts';

/** Which parts of the contract a store promises. */
export interface StoreContractOptions {
  /** Other processes may write the store's state too: `StateStore.shared`, with `StateStore.fleet`. */
  readonly shared: boolean;
  /**
   * The store commits several changes as one step: `StateStore.commitAll`.
   * @default false
   */
  readonly commitAll?: boolean;
  /**
   * The store keeps records of issued tokens: `StateStore.tokens`.
   * @default false
   */
  readonly tokens?: boolean;
  /**
   * The store carries messages between the processes that share it: `StateStore.messages`.
   * @default false
   */
  readonly messages?: boolean;
}

/**
 * What every {@link StateStore} does, as cases to be run one after another by any test runner:
 * `for (const { name, run } of storeContract(create, { shared: false })) test(name, run);`
 * @param create makes state of its own for one case, with nothing in it
 */
export function storeContract(
  create: () => Promise<StoreFixture>,
  { shared, commitAll = false, tokens = false, messages = false }: StoreContractOptions,
): readonly ContractCase[] {
  return collectCases((suite) => {
    stateContract(suite, create, { shared, commitAll, tokens, messages });
    auditTrailContract(suite, create);
    if (tokens) tokenStoreContract(suite, create);
    if (shared) fleetStoreContract(suite, create);
    if (messages) messageStoreContract(suite, create);
  });
}

function stateContract(
  { describe, test, beforeEach, afterEach }: Suite,
  create: () => Promise<StoreFixture>,
  { shared, commitAll, tokens }: Required<StoreContractOptions>,
): void {
  describe('state', () => {
    let fixture: StoreFixture;
    let store: StateStore;

    beforeEach(async () => {
      fixture = await create();
      store = await fixture.open();
    });
    afterEach(() => fixture?.dispose());

    if (commitAll) commitAllContract({ describe, test, beforeEach, afterEach }, () => store as Required<StateStore>);

    describe('what is kept', () => {
      test('a store without state loads no scope, and answers', async () => {
        assert.equal(store.shared, shared);
        assert.equal(store.commitAll !== undefined, commitAll);
        assert.equal(store.tokens !== undefined, tokens);
        assert.equal(store.fleet !== undefined, shared);
        assert.equal((await store.load()).size, 0);
        assert.equal(await store.newestAudit(), undefined);
        assert.deepEqual(await store.queryAudit({ limit: 10 }), { entries: [] });
        await store.check();
      });

      test('what was committed is loaded, layer by layer', async () => {
        const settings = {
          ON: { permanent: true },
          OFF: { permanent: false },
          MADE: { permanent: true, by: { userId: 'anna', reason: 'why', at: NOW } },
          OVERLAY: { temporary: { enabled: true, expiresAt: NOW + 1 } },
          BOTH: { permanent: true, temporary: { enabled: false, expiresAt: NOW + 86_400_000 } },
          'X-CUSTOM-NAME': { permanent: false, temporary: { enabled: true, expiresAt: NOW + 5 } },
        };
        assert.equal(committedRevision(await store.commit(change(GLOBAL_SCOPE, 0, settings))), 1);

        const loaded = (await store.load()).get(GLOBAL_SCOPE);
        assert.equal(loaded?.revision, 1);
        assert.equal(loaded?.changedAt, NOW);
        assert.deepEqual(new Map(loaded?.settings), new Map(Object.entries(settings)));
      });

      test('a layer that is undefined reads as absent', async () => {
        await store.commit(change(GLOBAL_SCOPE, 0, { A: { permanent: undefined, temporary: undefined } }));
        const loaded = (await store.load()).get(GLOBAL_SCOPE)?.settings.get('A');
        assert.equal(loaded?.permanent, undefined);
        assert.equal(loaded?.temporary, undefined);
      });

      test('a commit replaces the settings of its scope, and of no other', async () => {
        await store.commit(change('acme', 0, { A: { permanent: true }, B: { permanent: true } }));
        await store.commit(change('other', 0, { A: { permanent: false } }));
        await store.commit(change('acme', 1, { B: { permanent: false } }));

        const loaded = await store.load();
        assert.deepEqual([...loaded.keys()].sort(), ['acme', 'other']);
        assert.deepEqual([...(loaded.get('acme') as ScopeState).settings], [['B', { permanent: false }]]);
        assert.deepEqual([...(loaded.get('other') as ScopeState).settings], [['A', { permanent: false }]]);
      });

      test('revisions rise by every commit, also past one that leaves no settings', async () => {
        for (const [expected, settings] of [{ A: { permanent: true } }, {}, { B: { permanent: true } }, {}].entries()) {
          const result = await store.commit(change('acme', expected, settings));
          assert.equal(committedRevision(result), expected + 1);
        }
        const loaded = (await store.load()).get('acme');
        assert.equal(loaded?.revision, 4);
        assert.equal(loaded?.settings.size, 0);
      });

      test('a commit of the trail alone changes no scope', async () => {
        assert.deepEqual(await store.commit({ audit: auditEntry(), now: NOW }), { outcome: 'committed' });
        assert.equal((await store.load()).size, 0);
        assert.equal((await auditIds(store)).length, 1);
      });

      test('4,096 categories of one scope, with both layers, come back whole', async () => {
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

      test('scope keys that are odd but legal stay apart', async () => {
        const keys = [
          '*',
          '.',
          '..',
          '-',
          '_',
          '__proto__',
          'constructor',
          'a',
          'A',
          '0',
          '00',
          'x'.repeat(255),
          'n/a',
        ];
        for (const [index, key] of keys.entries()) {
          await store.commit(change(key, 0, { A: { permanent: true }, [`K${index}`]: { permanent: false } }));
        }
        const loaded = await store.load();
        assert.deepEqual([...loaded.keys()].sort(), [...keys].sort());
        for (const [index, key] of keys.entries()) {
          assert.deepEqual([...(loaded.get(key) as ScopeState).settings.keys()], ['A', `K${index}`], key);
        }
      });
    });

    describe('compare-and-set', () => {
      test('a commit on an outdated revision is a conflict that tells what holds, and writes nothing', async () => {
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

      test('a revision that is ahead of the store is a conflict too', async () => {
        const early = await store.commit(change('acme', 3, { A: { permanent: true } }));
        assert.equal(early.outcome, 'conflict');
        const { current } = early as Extract<CommitResult, { outcome: 'conflict' }>;
        assert.deepEqual({ revision: current.revision, size: current.settings.size }, { revision: 0, size: 0 });
        assert.deepEqual(await auditIds(store), []);
      });

      test('of commits made at once on one revision exactly one wins', async () => {
        const other = await fixture.open();
        for (let revision = 0; revision < 5; revision += 1) {
          const results = await Promise.all(
            Array.from({ length: 8 }, (_, index) =>
              (index % 2 === 0 ? store : other).commit(
                change('acme', revision, { [`BY_${index}`]: { permanent: true } }),
              ),
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
    });

    describe('repeats', () => {
      test('the answer kept for a request id is found until it expires', async () => {
        const replay = replayRecord({ expiresAt: NOW + 300_000 });
        await store.commit(change('acme', 0, {}, { replay }));
        assert.deepEqual({ ...(await store.findReplay(replay.key, NOW)) }, replay);
        assert.deepEqual({ ...(await store.findReplay(replay.key, NOW + 299_999)) }, replay);
        assert.equal(await store.findReplay(replay.key, NOW + 300_000), undefined);
        assert.equal(await store.findReplay(`${replay.key}0`, NOW), undefined);
      });

      test('a commit under a taken request id writes nothing and returns the kept answer', async () => {
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

      test('a repeat is told before a conflict', async () => {
        const replay = replayRecord();
        await store.commit(change('acme', 0, {}, { replay }));
        assert.equal((await store.commit(change('acme', 0, {}, { replay }))).outcome, 'replayed');
      });

      test('an expired request id is free again, and holds the new answer', async () => {
        const replay = replayRecord({ expiresAt: NOW + 10 });
        await store.commit({ audit: auditEntry(), replay, now: NOW });
        const renewed = replayRecord({ response: '{"second":true}', expiresAt: NOW + 20 });
        assert.deepEqual(await store.commit({ audit: auditEntry(), replay: renewed, now: NOW + 10 }), {
          outcome: 'committed',
        });
        assert.deepEqual({ ...(await store.findReplay(replay.key, NOW + 10)) }, renewed);
      });

      test('of commits made at once under one request id exactly one takes effect', async () => {
        const other = await fixture.open();
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
    });

    if (shared) changesOfOthers();

    describe('closing', () => {
      test('a closed store rejects instead of hanging, and can be closed again', async () => {
        await store.close();
        await store.close();
        await assert.rejects(store.commit(change('acme', 0, {})));
        await assert.rejects(store.load());
        await assert.rejects(store.queryAudit({ limit: 1 }));
        await assert.rejects(store.newestAudit());
        await assert.rejects(store.findReplay('key', NOW));
        await assert.rejects(store.pruneAudit(NOW));
        await assert.rejects(store.check());
        if (store.fleet !== undefined) await assert.rejects(store.fleet.look());
      });
    });

    function changesOfOthers(): void {
      describe('changes of others', () => {
        test('a commit of another handle arrives, with the newest state of its scope', async () => {
          const heard = new Map<string, ScopeState>();
          store.subscribe((scope, state) => heard.set(scope, state));
          const other = await fixture.open();

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

        test('a change made between loading and subscribing arrives', async () => {
          await store.load();
          const other = await fixture.open();
          await other.commit(change('acme', 0, {}));
          // Time enough to notice it, and to tell nobody.
          await new Promise((resolve) => setTimeout(resolve, 30));
          const heard: string[] = [];
          store.subscribe((scope) => heard.push(scope));
          await until(() => heard.includes('acme'), 'the change');
        });

        test('nothing arrives once the subscription has ended', async () => {
          const ended: string[] = [];
          const live: string[] = [];
          store.subscribe((scope) => ended.push(scope))();
          store.subscribe((scope) => live.push(scope));
          const other = await fixture.open();
          await other.commit(change('acme', 0, {}));
          await until(() => live.includes('acme'), 'the change, at the subscription that still runs');
          assert.deepEqual(ended, []);
        });

        test('a listener that throws keeps nobody from hearing', async () => {
          const heard: string[] = [];
          store.subscribe(() => {
            throw new Error('a listener of the application');
          });
          store.subscribe((scope) => heard.push(scope));
          const other = await fixture.open();
          await other.commit(change('acme', 0, {}));
          await other.commit(change('other', 0, {}));
          await until(() => heard.includes('acme') && heard.includes('other'), 'both changes');
        });
      });
    }
  });
}
