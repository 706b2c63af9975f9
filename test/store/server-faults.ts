import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScopeState, StateStore } from '../../src/store/state-store.ts';
import { auditIds, change, committedRevision, until } from './contract/samples.ts';
import { runToItsEnd } from './ending.ts';
import {
  ANSWERED_MS,
  CONVERGED_MS,
  eventually,
  follow,
  oneAfterTheOther,
  PATIENCE_MS,
  rejectsSoon,
} from './follower.ts';
import { startProxy } from './proxy.ts';
import type { RedisServer } from './redis-server.ts';

export interface FaultySetup {
  server(): Pick<RedisServer, 'url' | 'port' | 'kill' | 'start' | 'freeze' | 'thaw'>;
  /** Keeps what is there through a kill, where the server does not by itself. */
  save(): void;
  /** Takes all away that the stores of this test have there. */
  lose(): Promise<void>;
  /** Copies what is there; the function puts the copy back. */
  backUp(): Promise<() => Promise<void>>;
  /** A store in the place of this test, closed after it. @param options beside the URL of the server */
  open(options?: { readonly url?: string; readonly deadlineMs?: number }): StateStore;
  /** The call that makes such a store in another program. */
  program(deadlineMs: number): string;
}

/** What holds for a store on a server, whichever it is, when that fails. */
export function survivesItsServer({ server, save, lose, backUp, open, program }: FaultySetup): void {
  test('a killed server is answered by rejections at once, its return is noticed, and nothing is lost', async () => {
    const [a, b] = [await follow(open()), await follow(open())];
    await a.store.commit(change('acme', 0, { A: { permanent: true } }));
    save();
    await server().kill();
    await rejectsSoon(a.store.commit(change('acme', 1, {})));
    await rejectsSoon(b.store.load());
    await rejectsSoon(b.store.check());

    await server().start();
    const result = await eventually(() => a.store.commit(change('acme', 1, { B: { permanent: true } })));
    assert.equal(committedRevision(result), 2);
    await until(() => b.heard.get('acme')?.revision === 2, 'the change after the return', CONVERGED_MS);
    assert.deepEqual([a.resets, b.resets], [[], []]);
  });

  test('a frozen server is given up within the deadline, and does not run later what was refused', async () => {
    const { store, resets } = await follow(open());
    await store.commit(change('acme', 0, { A: { permanent: true } }));
    server().freeze();
    await rejectsSoon(oneAfterTheOther(() => store.commit(change('acme', 1, { LATE: { permanent: true } }))));
    // Nothing is sent again meanwhile, which a frozen server would not show.
    await new Promise((resolve) => setTimeout(resolve, 300));
    server().thaw();

    const loaded = await eventually(() => store.load());
    assert.equal(loaded.get('acme')?.revision, 1);
    assert.equal((await auditIds(store)).length, 1);
    assert.equal((await eventually(() => store.commit(change('acme', 1, {})))).outcome, 'committed');
    assert.deepEqual(resets, []);
  });

  test('a first answer that takes several deadlines is waited for, and a later one is not', async (t) => {
    const { port, url } = server();
    const proxy = await startProxy(port, 1200);
    t.after(() => proxy.close());
    const store = open({ url: url.replace(`:${port}`, `:${proxy.port}`), deadlineMs: 500 });
    assert.equal((await store.load()).size, 0);
    server().freeze();
    await rejectsSoon(store.load());
  });

  test('a store opened while the server is down announces everything once it is up', async () => {
    const first = await follow(open());
    await first.store.commit(change('acme', 0, { A: { permanent: true } }));
    save();
    await first.store.close();
    await server().kill();
    const store = open();
    const heard = new Map<string, ScopeState>();
    store.subscribe((scope, state) => heard.set(scope, state));
    await rejectsSoon(store.load());
    await server().start();
    await until(() => heard.get('acme')?.revision === 1, 'the state', CONVERGED_MS);
    assert.deepEqual([...(heard.get('acme') as ScopeState).settings.keys()], ['A']);
  });

  test('a loss of everything is reported once, and nothing is brought back from the memory of a process', async () => {
    const [a, b] = [await follow(open()), await follow(open())];
    for (let revision = 0; revision < 3; revision += 1) await a.store.commit(change('acme', revision, {}));
    await until(() => b.heard.get('acme')?.revision === 3, 'the changes');
    await lose();

    await until(() => a.resets.length > 0 && b.resets.length > 0, 'word of the reset', CONVERGED_MS);
    assert.deepEqual([a.resets, b.resets], [[{ reason: 'empty' }], [{ reason: 'empty' }]]);
    assert.equal((await a.store.load()).size, 0);
    const outdated = await eventually(() => b.store.commit(change('acme', 3, { A: { permanent: true } })));
    assert.equal(outdated.outcome, 'conflict');
    assert.equal(committedRevision(await a.store.commit(change('acme', 0, {}))), 1);
    await until(() => b.heard.get('acme')?.revision === 1, 'a change of the new history');
    assert.deepEqual([a.resets.length, b.resets.length], [1, 1]);
  });

  test('an old copy that was put back is reported, and is in force', async () => {
    const [a, b] = [await follow(open()), await follow(open())];
    await a.store.commit(change('acme', 0, { OLD: { permanent: true } }));
    const putBack = await backUp();
    await eventually(() => a.store.commit(change('acme', 1, { LOST: { permanent: true } })));
    await until(() => b.heard.get('acme')?.revision === 2, 'the change that will be lost', CONVERGED_MS);
    await putBack();

    await until(() => a.resets.length > 0 && b.resets.length > 0, 'word of the reset', CONVERGED_MS);
    assert.deepEqual([a.resets, b.resets], [[{ reason: 'rollback' }], [{ reason: 'rollback' }]]);
    const state = (await b.store.load()).get('acme');
    assert.deepEqual([state?.revision, [...(state?.settings.keys() ?? [])]], [1, ['OLD']]);
  });

  for (const down of [false, true]) {
    test(`the application's process ends by itself although a store is open, the server being ${down ? 'down' : 'up'}`, async () => {
      if (down) await server().kill();
      const printed = await runToItsEnd(`
        const store = ${program(down ? 1000 : PATIENCE_MS)};
        store.subscribe(() => {});
        await store.load().then(() => console.log('loaded'), () => console.log('rejected'));
        clearTimeout(work);
      `);
      if (down) await server().start();
      assert.equal(printed, down ? 'rejected' : 'loaded');
    });
  }
}

/** Asks until the store rejects, for as long as that may take. */
export async function eventuallyRejects(work: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + ANSWERED_MS;
  while (performance.now() < deadline) await work();
}
