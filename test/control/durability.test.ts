import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { settled } from '../support/virtual-time.ts';
import { code, enable, startPlane } from './running-plane.ts';

/** A store whose disk is as slow as the test wants: each commit is durable when its turn in `syncs` comes. */
function slowDisk() {
  const { commitAll: _, ...inner } = createMemoryStore();
  const syncs: PromiseWithResolvers<void>[] = [];
  const store: StateStore = {
    ...inner,
    async commit(commit) {
      const result = await inner.commit(commit);
      if (result.outcome !== 'committed' || commit.syncLater !== true) return result;
      const sync = Promise.withResolvers<void>();
      syncs.push(sync);
      return { ...result, durable: sync.promise };
    },
  };
  return { store, syncs };
}

test('nobody is told of a change before it is durable, but it is in force', async () => {
  const { store, syncs } = slowDisk();
  const { control, database } = await startPlane({ store });
  let answered = false;
  const answer = control(enable()).finally(() => {
    answered = true;
  });
  await settled();
  assert.equal(database.enabled, true);
  assert.equal(answered, false);
  syncs[0]?.resolve();
  assert.equal((await answer).response.status, 'success');
});

test('a command does not wait for the disk of the one before it', async () => {
  const { store, syncs } = slowDisk();
  const { control } = await startPlane({ store });
  const answers = [control(enable()), control({ action: 'disable', categories: ['DATABASE'] })];
  await settled();
  assert.equal(syncs.length, 2);
  for (const sync of syncs) sync.resolve();
  const [first, second] = await Promise.all(answers);
  assert.equal(first?.response.changes[0]?.newState, true);
  assert.equal(second?.response.changes[0]?.previousState, true);
});

test('a change that the disk did not take is told as one that may be lost, and as no success', async () => {
  const { store, syncs } = slowDisk();
  const { control, database } = await startPlane({ store });
  const answer = control(enable());
  await settled();
  syncs[0]?.reject(new Error('EIO: i/o error, fdatasync'));
  assert.equal(await code(answer), 'RDCP_UNAVAILABLE');
  await assert.rejects(answer, /in force, but it is not certain/);
  assert.equal(database.enabled, true);
});

test('a repeat that comes before the first answer is durable does not overtake it', async () => {
  const { store, syncs } = slowDisk();
  const { control } = await startPlane({ store });
  const replay = { key: 'ops r-1', fingerprint: 'f' };
  const answer = control(enable(), { replay });
  await settled();
  assert.equal(await code(control(enable(), { replay })), 'RDCP_REQUEST_IN_PROGRESS');
  syncs[0]?.resolve();
  await answer;
  assert.equal((await control(enable(), { replay })).replayed, true);
});
