import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Scope } from '../../src/control/types.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { GLOBAL_SCOPE, type StateStore } from '../../src/store/state-store.ts';
import type { ControlRequest } from '../../src/wire/control-request.ts';
import { unwritten } from '../../src/wire/errors.ts';
import { inWords, verify } from '../audit/entries.ts';
import fc from '../support/fast-check.ts';
import { newFolder } from '../support/folder.ts';
import { inBoth, runs } from '../support/tiers.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { breakableStore } from './breakable-store.ts';
import { ACME, enable, GLOBAL, type Setup, startPlane, startShared } from './running-plane.ts';

const SHARED = 'reconcile: set in one process while the store could not be reached';
const YIELDED = 'reconcile: changed for all meanwhile';

test('a local control is shared with all processes when the store is back, for the rest of its time', async () => {
  const shared = breakableStore();
  const time = virtualTime();
  const here = await startPlane({ store: shared.store, time });
  const there = await startPlane({ store: shared.store, time });
  shared.mode.down = true;
  const { response } = await here.control(enable(60));
  assert.equal(response.status, 'partial');
  assert.match(response.message, /in this process alone until the store is available again/);
  assert.equal(here.stateOf().origin, 'temporary');
  await time.pass(20_000);
  assert.deepEqual([here.database.enabled, there.database.enabled], [true, false]);
  shared.mode.down = false;
  await time.pass(1000);
  await shared.announce(GLOBAL_SCOPE);
  assert.deepEqual([here.database.enabled, there.database.enabled], [true, true]);
  assert.equal(there.stateOf().expiresAt, here.stateOf().expiresAt);
  const entries = await shared.entries();
  assert.deepEqual(inWords(entries), ['enable partial', SHARED]);
  assert.deepEqual(
    entries[1]?.changes.map(({ previousState, newState, expiresAt }) => [previousState, newState, expiresAt]),
    [[false, true, response.changes[0]?.expiresAt]],
  );
  await time.pass(38_999);
  assert.deepEqual([here.database.enabled, there.database.enabled], [true, true]);
  await time.pass(1);
  assert.deepEqual([here.database.enabled, there.database.enabled], [false, false]);
  await time.pass(1000);
  assert.deepEqual(inWords(await shared.entries()), ['enable partial', SHARED, 'expire']);
  assert.equal(verify(await shared.entries()), undefined);
});

test('a store that fails for a moment isolates no process for long, and a control set meanwhile ends on time', async () => {
  const { shared, control, database, time } = await startShared();
  const { commit } = shared.store;
  shared.store.commit = async () => {
    shared.store.commit = commit;
    throw unwritten(new Error('the connection was refused'));
  };
  assert.equal((await control(enable(60))).response.status, 'partial');
  await time.pass(1000);
  assert.equal((await shared.settings(GLOBAL_SCOPE)).get('DATABASE')?.temporary?.enabled, true);
  await time.pass(58_999);
  assert.equal(database.enabled, true);
  await time.pass(1);
  assert.equal(database.enabled, false);
});

test('a store that can be read but not written is tried again each second, not at once', async () => {
  const { shared, control, time } = await startShared();
  shared.store.commit = () => Promise.reject(unwritten(new Error('no space left on device')));
  assert.equal((await control(enable(60))).response.status, 'partial');
  const before = shared.calls;
  await time.pass(10_000);
  assert.ok(shared.calls - before < 100, `asked ${shared.calls - before} times in ten seconds`);
});

interface TwoProcesses extends Pick<Setup, 'options'> {
  readonly whole?: StateStore;
}

/** Two processes with one store, each with its own way to it. */
async function twoProcesses({ options = {}, whole = createMemoryStore() }: TwoProcesses = {}) {
  const time = virtualTime();
  const ways = [breakableStore(whole), breakableStore(whole)] as const;
  const [here, there] = [
    await startPlane({ store: ways[0].store, time, options }),
    await startPlane({ store: ways[1].store, time, options }),
  ];
  return { here, there, time, ways, wayHere: ways[0].mode };
}

const reset: ControlRequest = { action: 'reset', categories: ['DATABASE'] };
const endTemporary: ControlRequest = { ...reset, options: { otelrdcp_only: 'temporary' } };
const forOne: ControlRequest = { ...enable(60), options: { otelrdcp_target: { match: { user: 'u' } }, duration: 60 } };
const inAcme = { scope: ACME };

/** What another process does before a local control, of which the process that is cut off does not hear, and after it. */
const MEANWHILE: readonly {
  readonly what: string;
  readonly before?: readonly [ControlRequest, { scope: Scope }?][];
  readonly after?: readonly [ControlRequest, { scope: Scope }?][];
  readonly yields: boolean;
}[] = [
  { what: 'nothing', yields: false },
  { what: 'an older control of the same category', before: [[enable(900)]], yields: false },
  { what: 'an older permanent setting', before: [[enable()]], yields: false },
  { what: 'an older reset', before: [[enable()], [reset]], yields: false },
  { what: 'the end of an older control, by its time', before: [[enable(20)]], yields: false },
  { what: 'a later control', after: [[enable(900)]], yields: true },
  { what: 'a later permanent setting', before: [[enable(20)]], after: [[enable()]], yields: true },
  { what: 'a later change that was reset', after: [[enable()], [reset]], yields: true },
  {
    what: 'a later end of what is temporary, by somebody',
    before: [[enable(900)]],
    after: [[endTemporary]],
    yields: true,
  },
  { what: 'a later control of a part of the work', after: [[forOne]], yields: false },
  { what: 'a later control of a tenant', after: [[enable(900), inAcme]], yields: false },
  { what: 'a later control of another category', after: [[{ ...enable(900), categories: ['CACHE'] }]], yields: false },
];

for (const { what, before = [], after = [], yields } of MEANWHILE) {
  test(`a local control ${yields ? 'yields to' : 'outlives'} ${what}`, async (t) => {
    // Changes as a file keeps them: who made a change and when decides which one yields.
    const { here, there, time, ways, wayHere } = await twoProcesses({
      // No disk is waited for: the time is virtual.
      whole: createSqliteStore(join(newFolder(t), 'state.db'), { lasting: false }),
    });
    await there.control(enable(10));
    await ways[0].announce(GLOBAL_SCOPE);
    wayHere.down = true;
    for (const [request, context] of before) await there.control(request, context);
    await time.pass(1000);
    const local = { ...enable(600), action: 'disable' as const };
    const { response } = await here.control(local, { requestId: 'here' });
    assert.equal(response.status, 'partial');
    await time.pass(1000);
    for (const [request, context] of after) await there.control(request, context);
    // What was there before has ended by now, and the end is written.
    await time.pass(30_000);
    assert.equal(here.database.enabled, false);
    wayHere.down = false;
    await time.pass(1000);
    for (const way of ways) await way.announce(GLOBAL_SCOPE);
    await time.pass(1000);
    const kept = (await ways[0].settings(GLOBAL_SCOPE)).get('DATABASE')?.temporary;
    assert.equal(kept?.expiresAt === Date.parse(response.changes[0]?.expiresAt ?? ''), !yields);
    assert.deepEqual(here.stateOf(), there.stateOf());
    const entries = await ways[0].entries();
    const settled = entries.filter(({ action }) => action === 'reconcile');
    assert.deepEqual(inWords(settled), [yields ? YIELDED : SHARED]);
    assert.equal(settled[0]?.changes[0]?.newState, yields && here.database.enabled);
    assert.equal(entries.filter(({ requestId }) => requestId === 'here').length, 1);
    assert.equal(verify(entries), undefined);
  });
}

test('a repeat at a process that is cut off ends when its id turns out to have been answered elsewhere', async () => {
  const { here, there, time, ways, wayHere } = await twoProcesses();
  const replay = { key: 'ops r-1', fingerprint: 'f' };
  const first = await there.control(enable(60), { replay });
  wayHere.down = true;
  await time.pass(1000);
  const { response } = await here.control(enable(60), { replay });
  assert.equal(response.status, 'partial');
  wayHere.down = false;
  await time.pass(1000);
  assert.equal(here.stateOf().expiresAt, there.stateOf().expiresAt);
  assert.deepEqual((await here.control(enable(60), { replay })).response, first.response);
  const answered = 'reconcile: the request had been answered by another process';
  assert.deepEqual(inWords(await ways[0].entries()), ['enable', 'enable partial', answered]);
});

test('what finds no room among those of the others ends, and the trail says so', async () => {
  const limits = { defaultDuration: 900, maxDuration: 86_400, maxTemporary: 1, maxCategories: 4096 };
  const { here, there, time, ways, wayHere } = await twoProcesses({ options: { limits } });
  wayHere.down = true;
  await here.control(enable(600));
  await there.control({ action: 'disable', categories: ['CACHE'], options: { duration: 600 } });
  wayHere.down = false;
  await time.pass(2000);
  assert.equal(here.database.enabled, false);
  assert.deepEqual([...(await ways[0].settings(GLOBAL_SCOPE)).keys()], ['CACHE']);
  const told = (await ways[0].entries()).at(-1);
  assert.deepEqual(
    [told?.action, told?.reason, told?.changes.map(({ newState }) => newState)],
    ['reconcile', 'no room among the temporary controls in force', [false]],
  );
});

test("a tenant's local control is shared with all processes for that tenant", async () => {
  const { here, there, time, ways, wayHere } = await twoProcesses();
  wayHere.down = true;
  await here.control(enable(600), { scope: ACME });
  wayHere.down = false;
  await time.pass(1000);
  await ways[1].announce('acme');
  assert.equal(
    there.gate.runWithTenant('acme', () => there.database.enabled),
    true,
  );
  assert.equal(there.database.enabled, false);
  const shares = (await ways[0].entries()).find(({ action }) => action === 'reconcile');
  assert.deepEqual(shares?.tenant, { id: 'acme' });
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('link' as const), who: fc.nat(2), down: fc.boolean() }),
  fc.record({ kind: fc.constant('wait' as const), milliseconds: fc.integer({ min: 1, max: 20_000 }) }),
  fc.record({
    kind: fc.constant('control' as const),
    who: fc.nat(2),
    action: fc.constantFrom('enable' as const, 'disable' as const, 'toggle' as const, 'reset' as const),
    categories: fc.subarray(['DATABASE', 'CACHE'], { minLength: 1 }),
    duration: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
    scope: fc.constantFrom(GLOBAL, ACME),
  }),
);

inBoth(
  'whatever is set while processes come and go, all agree five seconds after, and the trail has every answer',
  async () => {
    let answered = 0;
    let alone = 0;
    const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const whole = createMemoryStore();
      const time = virtualTime();
      const ways = Array.from({ length: 3 }, () => breakableStore(whole));
      const planes = await Promise.all(ways.map(({ store }) => startPlane({ store, time })));
      const expected: string[] = [];
      for (const [index, one] of steps.entries()) {
        if (one.kind === 'wait') await time.pass(one.milliseconds);
        else if (one.kind === 'link') (ways[one.who] as (typeof ways)[0]).mode.down = one.down;
        else {
          const { who, action, categories, duration, scope } = one;
          const requestId = `request-${index}`;
          const options = action === 'reset' || duration === undefined ? {} : { options: { duration } };
          const outcome = await planes[who]
            ?.control({ action, categories, ...options }, { requestId, scope })
            .catch(() => undefined);
          if (outcome === undefined) continue;
          answered += 1;
          if (outcome.response.status === 'partial') alone += 1;
          expected.push(`${requestId} ${outcome.response.status}`);
          // The others hear of it, as far as they can.
          for (const [other, way] of ways.entries()) {
            if (!way.mode.down && other !== who) await way.announce(scope.key);
          }
        }
      }
      for (const way of ways) way.mode.down = false;
      for (let tick = 0; tick < 5; tick++) {
        await time.pass(1000);
        for (const way of ways) for (const key of [GLOBAL_SCOPE, 'acme']) await way.announce(key);
      }
      const views = planes.map(({ plane }) => [GLOBAL, ACME].map((scope) => plane.view(scope)));
      assert.deepEqual(views[1], views[0]);
      assert.deepEqual(views[2], views[0]);
      for (const { gate, database, stateOf } of planes) {
        assert.equal(database.enabled, stateOf().enabled);
        assert.equal(
          gate.runWithTenant('acme', () => database.enabled),
          stateOf(ACME).enabled,
        );
      }
      const entries = await (ways[0] as (typeof ways)[0]).entries();
      assert.equal(verify(entries), undefined);
      const told = entries.flatMap(({ requestId, outcome }) =>
        requestId && outcome !== 'failed' ? [`${requestId} ${outcome}`] : [],
      );
      assert.deepEqual(told.sort(), expected.sort());
      await Promise.all(planes.map(({ plane }) => plane.close()));
    });
    await fc.assert(property, { numRuns: runs(200) });
    assert.ok(alone > runs(50), `${alone} of ${answered} answers were of one process alone`);
  },
);
