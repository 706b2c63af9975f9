import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FollowedStore, Follower } from '../../src/control/follower.ts';
import { UNWATCHED } from '../../src/otel/report/conditions.ts';
import { GLOBAL_SCOPE, type ScopeState, type StoreReset } from '../../src/store/state-store.ts';

const state = (revision: number, changedAt: number): ScopeState => ({ revision, changedAt, settings: new Map() });

test('a change of another history that is heard while the store is read is not taken for read', async () => {
  const known = new Map<string, ScopeState>();
  let hear: (key: string, state: ScopeState) => void = () => assert.fail('nobody subscribed');
  let reset: (loss: StoreReset) => void = () => assert.fail('nobody listens for resets');
  let answer: (states: ReadonlyMap<string, ScopeState>) => void = () => assert.fail('the store was not asked');
  const store: FollowedStore = {
    load: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
    subscribe(listener) {
      hear = listener;
      return () => {};
    },
    onReset(listener) {
      reset = listener;
      return () => {};
    },
    newestAudit: async () => undefined,
    check: async () => {},
  };
  const follower = new Follower({
    store,
    states: { stored: (key) => known.get(key) ?? { revision: 0, settings: new Map() }, keys: () => known.keys() },
    binding: { adopt: (key, adopted) => void known.set(key, adopted) },
    outage: UNWATCHED,
    report: (error) => assert.fail(String(error)),
  });
  const turn = () => new Promise(setImmediate);

  const first = follower.read();
  await turn();
  answer(new Map([[GLOBAL_SCOPE, state(5, 1000)]]));
  await first;

  // The store came back empty, and before the answer that says so somebody has changed it already.
  reset({ reason: 'empty', history: 'new' });
  await turn();
  hear(GLOBAL_SCOPE, state(1, 2000));
  answer(new Map());
  await turn();
  assert.equal(follower.doubtful, true);

  const again = follower.read();
  await turn();
  answer(new Map([[GLOBAL_SCOPE, state(1, 2000)]]));
  await again;
  assert.equal(follower.doubtful, false);
  assert.equal(known.get(GLOBAL_SCOPE)?.changedAt, 2000);
});
