import assert from 'node:assert/strict';
import type { StateStore } from '../store/state-store.ts';
import { auditEntry, auditIds, change, NOW, replayRecord } from './samples.ts';
import type { Suite } from './suite.ts';

/** What a store does that has {@link StateStore.commitAll}. */
export function commitAllContract({ describe, test }: Suite, store: () => Required<StateStore>): void {
  describe('commits that go together', () => {
    test('each builds on those before it, and all are kept in their order', async () => {
      const [first, second, third] = [auditEntry(), auditEntry(), auditEntry()];
      const results = await store().commitAll([
        { ...change('acme', 0, { A: { permanent: true } }), audit: first },
        { audit: second, now: NOW },
        { ...change('acme', 1, { A: { permanent: false } }), audit: third },
      ]);
      assert.deepEqual(
        results.map((result) => [result.outcome, 'revision' in result && result.revision]),
        [
          ['committed', 1],
          ['committed', false],
          ['committed', 2],
        ],
      );
      assert.deepEqual(await auditIds(store()), [third.id, second.id, first.id]);
      assert.equal((await store().load()).get('acme')?.settings.get('A')?.permanent, false);
    });

    test('end at a conflict: what came before is kept, what follows is not', async () => {
      const kept = auditEntry();
      const results = await store().commitAll([
        { audit: kept, now: NOW },
        change('acme', 7, { A: { permanent: true } }),
        { audit: auditEntry(), now: NOW },
      ]);
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        ['committed', 'conflict'],
      );
      assert.deepEqual(await auditIds(store()), [kept.id]);
    });

    test('end at a request id that is taken, also by one of them', async () => {
      const replay = replayRecord();
      const results = await store().commitAll([
        change('acme', 0, { A: { permanent: true } }, { replay }),
        change('acme', 1, { A: { permanent: false } }, { replay }),
        { audit: auditEntry(), now: NOW },
      ]);
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        ['committed', 'replayed'],
      );
      assert.equal((await store().load()).get('acme')?.revision, 1);
      assert.equal((await auditIds(store())).length, 1);
    });
  });
}
