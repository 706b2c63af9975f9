import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { GLOBAL_SCOPE } from '../../src/store/state-store.ts';
import { isRdcpError, unwritten } from '../../src/wire/errors.ts';
import { inWords, verify } from '../audit/entries.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';
import { breakableStore } from './breakable-store.ts';
import { ACME, code, enable, GLOBAL, HOUR, startPlane, startShared } from './running-plane.ts';

test('the entry of a control without the store is emitted at once, and in the trail when the store is back, before anything later', async () => {
  const { shared, control, records, time } = await startShared();
  await control({ action: 'enable', categories: ['CACHE'] });
  shared.mode.down = true;
  await control(enable(600), { requestId: 'in-the-dark' });
  const emitted = records.at(-1);
  assert.deepEqual(
    [emitted?.attributes['rdcp.outcome'], emitted?.attributes['rdcp.request.id']],
    ['partial', 'in-the-dark'],
  );
  assert.equal((await shared.entries()).length, 1);
  shared.mode.down = false;
  await time.pass(1000);
  await control({ action: 'disable', categories: ['CACHE'] });
  const entries = await shared.entries();
  const shares = 'reconcile: set in one process while the store could not be reached';
  assert.deepEqual(inWords(entries), ['enable', 'enable partial', shares, 'disable']);
  assert.equal(verify(entries), undefined);
  assert.equal(entries[1]?.id, emitted?.attributes['rdcp.audit.id']);
  assert.equal(records.filter(({ attributes }) => attributes['rdcp.audit.id'] === entries[1]?.id).length, 1);
});

test('a permanent change is refused while the store is down, with nothing changed and no detail of the store', async () => {
  const { shared, control, database } = await startShared();
  shared.mode.down = true;
  const error: unknown = await control(enable()).catch((thrown: unknown) => thrown);
  assert.ok(isRdcpError(error));
  assert.equal(error.code, 'RDCP_UNAVAILABLE');
  assert.ok(error.headers?.['Retry-After']);
  assert.doesNotMatch(error.message, /10\.0\.0\.7|ECONN/);
  assert.equal(database.enabled, false);
});

test('at level enterprise a temporary control is refused too', async () => {
  const { shared, control, database } = await startShared({ options: { securityLevel: 'enterprise' } });
  shared.mode.down = true;
  assert.equal(await code(control(enable(60))), 'RDCP_UNAVAILABLE');
  assert.equal(database.enabled, false);
  assert.deepEqual(await shared.entries(), []);
});

test('known state stays in force while the store is down', async () => {
  const { shared, control, gate, stateOf, time } = await startShared();
  await control({ action: 'disable', categories: ['CACHE'] });
  shared.mode.down = true;
  await time.pass(120_000);
  assert.equal(gate.category('CACHE').enabled, false);
  assert.equal(stateOf(GLOBAL, 'CACHE').origin, 'global');
});

test('a store that failed is not waited for again before it was read', async () => {
  const { shared, control } = await startShared();
  shared.mode.down = true;
  await code(control(enable()));
  await settled();
  const asked = shared.calls;
  for (let attempt = 0; attempt < 20; attempt++) assert.equal(await code(control(enable())), 'RDCP_UNAVAILABLE');
  assert.equal(shared.calls, asked);
});

test('a control of this process alone ends on time during the outage, and both are in the trail when the store is back', async () => {
  const { shared, control, database, time, stateOf } = await startShared();
  shared.mode.down = true;
  await control(enable(60));
  await time.pass(59_999);
  assert.equal(database.enabled, true);
  await time.pass(1);
  assert.equal(database.enabled, false);
  assert.equal(stateOf().temporary, false);
  await time.pass(30_000);
  shared.mode.down = false;
  await time.pass(2000);
  const entries = await shared.entries();
  assert.deepEqual(inWords(entries), ['enable partial', 'expire']);
  assert.equal(verify(entries), undefined);
});

test('the same request id gets the first answer, during the outage and after it, with one effect', async () => {
  const { shared, control, database, time } = await startShared();
  const replay = { key: 'k', fingerprint: 'f' };
  const toggle = { ...enable(120), action: 'toggle' as const };
  shared.mode.down = true;
  const first = await control(toggle, { replay });
  const during = await control(toggle, { replay });
  assert.equal(await code(control(toggle, { replay: { key: 'k', fingerprint: 'other' } })), 'RDCP_REQUEST_ID_REUSED');
  shared.mode.down = false;
  await time.pass(2000);
  const after = await control(toggle, { replay });
  assert.deepEqual([first.replayed, during.replayed, after.replayed], [false, true, true]);
  assert.deepEqual([during.response, after.response], [first.response, first.response]);
  assert.equal(database.enabled, true);
  assert.deepEqual(
    (await shared.entries()).map(({ action }) => action),
    ['toggle', 'reconcile'],
  );
});

test('an unknown category is refused as such during an outage too, and recorded when the store is back', async () => {
  const { shared, control, time } = await startShared();
  shared.mode.down = true;
  const request = { ...enable(60), categories: ['NOPE'] };
  assert.equal(await code(control(request)), 'RDCP_CATEGORY_NOT_FOUND');
  shared.mode.down = false;
  await time.pass(2000);
  const [entry] = await shared.entries();
  assert.deepEqual([entry?.outcome, entry?.error], ['failed', 'RDCP_CATEGORY_NOT_FOUND']);
});

test('a store that is down from the start refuses what is permanent, lets through what is temporary, and is read when it is back', async () => {
  const shared = breakableStore();
  const time = virtualTime();
  const other = await startPlane({ store: shared.store, time });
  await other.control({ action: 'disable', categories: ['CACHE'] });
  shared.mode.down = true;
  const { control, gate, database } = await startPlane({ store: shared.store, time });
  assert.equal(gate.category('CACHE').enabled, true);
  assert.equal(await code(control(enable())), 'RDCP_UNAVAILABLE');
  assert.equal((await control(enable(600))).response.status, 'partial');
  shared.mode.down = false;
  await time.pass(2000);
  assert.equal(gate.category('CACHE').enabled, false);
  assert.equal(database.enabled, true);
});

const TEMPORARY = enable(600);
const REPLAY = { key: 'ops r-1', fingerprint: 'f' };

/** The next commit gets no answer, whether it is carried out or not; then the store is away, or goes on. */
function loseNext(shared: ReturnType<typeof breakableStore>, fate: { readonly made: boolean; readonly away: boolean }) {
  const { commit } = shared.store;
  shared.store.commit = async (wanted) => {
    shared.store.commit = commit;
    if (fate.made) await commit(wanted);
    shared.mode.down = fate.away;
    throw new Error('the connection was lost');
  };
}

for (const made of [true, false]) {
  test(`a commit that was ${made ? '' : 'not '}made and is not answered is unknown until the store tells, and has one answer`, async () => {
    const { shared, control, database, time, records } = await startShared();
    loseNext(shared, { made, away: true });
    const asked = control(TEMPORARY, { replay: REPLAY }).catch((thrown: unknown) => thrown);
    await settled();
    await time.pass(2000);
    const unknown = [await asked, await control(TEMPORARY, { replay: REPLAY }).catch((thrown: unknown) => thrown)];
    for (const error of unknown) {
      assert.ok(isRdcpError(error));
      assert.deepEqual([error.status, error.details], [503, { outcome: 'unknown' }]);
      assert.match(error.message, /not known .* repeat .* same X-RDCP-Request-ID/);
    }
    assert.equal(database.enabled, false, 'not in this process alone');
    assert.equal(await code(control(enable(60), { replay: { ...REPLAY, fingerprint: 'g' } })), 'RDCP_UNAVAILABLE');
    shared.mode.down = false;
    await time.pass(1000);
    assert.equal(database.enabled, made);
    const { response } = await control(TEMPORARY, { replay: REPLAY });
    assert.equal(response.status, 'success');
    assert.deepEqual((await control(TEMPORARY, { replay: REPLAY })).response, response);
    await time.pass(1000);
    const entries = await shared.entries();
    assert.deepEqual(inWords(entries), ['enable']);
    assert.equal(verify(entries), undefined);
    assert.deepEqual(
      records.map(({ attributes }) => attributes['rdcp.audit.id']),
      entries.map(({ id }) => id),
    );
  });

  test(`a commit that was ${made ? '' : 'not '}made is answered in time where the store answers again`, async () => {
    const { shared, control, time } = await startShared();
    loseNext(shared, { made, away: true });
    const asked = control(TEMPORARY, { replay: REPLAY });
    await settled();
    await time.pass(500);
    shared.mode.down = false;
    await time.pass(500);
    assert.equal((await asked).response.status, 'success');
    assert.deepEqual(inWords(await shared.entries()), ['enable']);
  });
}

test('a repeat that is refused leaves unknown what became of the first', async () => {
  const { shared, control, database, time } = await startShared();
  const { commit } = shared.store;
  const lose = async () => {
    shared.store.commit = () => Promise.reject(unwritten(new Error('no space left on device')));
    throw new Error('the connection was lost');
  };
  shared.store.commit = lose;
  for (const _asked of ['first', 'again']) {
    const error: unknown = await control(TEMPORARY, { replay: REPLAY }).catch((thrown: unknown) => thrown);
    assert.ok(isRdcpError(error));
    assert.deepEqual([error.details, database.enabled], [{ outcome: 'unknown' }, false]);
    await settled();
  }
  shared.store.commit = commit;
  await time.pass(1000);
  assert.equal((await control(TEMPORARY, { replay: REPLAY })).response.status, 'success');
});

test('a change that others overtake again and again is refused when its time is over', async () => {
  const { shared, control, time } = await startShared();
  let attempts = 0;
  shared.store.commit = ({ state }) => {
    attempts += 1;
    const current = { revision: (state?.expectedRevision ?? 0) + 1, settings: new Map(), changedAt: attempts };
    return new Promise((resolve) => time.delay(500, () => resolve({ outcome: 'conflict', current })));
  };
  const asked = code(control(enable()));
  await settled();
  await time.pass(2000);
  assert.deepEqual([await asked, attempts], ['RDCP_UNAVAILABLE', 4]);
});

test('a store that came back empty is believed, although its revisions went back', async () => {
  const { shared, control, database, gate, time } = await startShared();
  const inAcme = () => gate.runWithTenant('acme', () => database.enabled);
  await control(enable());
  await control({ action: 'disable', categories: ['DATABASE'] }, { scope: ACME });
  assert.deepEqual([database.enabled, inAcme()], [true, false]);
  shared.store.load = async () => new Map();
  shared.reset();
  await time.pass(1);
  assert.deepEqual([database.enabled, inAcme()], [false, false]);
  await settled();
});

test('lost changes are recorded once in the trail, whichever process notices, and reported to health by each', async () => {
  const shared = breakableStore();
  const time = virtualTime();
  const planes = [await startPlane({ store: shared.store, time }), await startPlane({ store: shared.store, time })];
  const [one, two] = planes;
  assert.ok(one && two);
  await one.control(enable());
  await shared.announce(GLOBAL_SCOPE);
  const { load } = shared.store;
  shared.store.load = async () => new Map();
  shared.reset('rollback');
  await time.pass(1);
  const told = (await shared.entries()).filter(({ action }) => action === 'state_reset');
  assert.deepEqual(inWords(told), ['state_reset: the store came back with an older state']);
  assert.deepEqual(
    told[0]?.changes.map(({ category, previousState, newState }) => [category, previousState, newState]),
    [['DATABASE', true, false]],
  );
  assert.equal(verify(await shared.entries()), undefined);
  assert.deepEqual(
    planes.map(({ plane }) => plane.lost),
    [true, true],
  );

  shared.store.load = load;
  await one.control(enable(60));
  await shared.announce(GLOBAL_SCOPE);
  assert.deepEqual(
    planes.map(({ plane }) => plane.lost),
    [false, false],
  );
  shared.reset('empty', 'third');
  await time.pass(1);
  assert.equal((await shared.entries()).filter(({ action }) => action === 'state_reset').length, 2);
  await time.pass(HOUR);
  assert.equal(two.plane.lost, false);
});

test('a loss that no process can record at once is one entry and one log record, written when the store accepts it', async () => {
  const whole = createMemoryStore();
  const time = virtualTime();
  const ways = Array.from({ length: 3 }, () => breakableStore(whole));
  const planes = await Promise.all(ways.map(({ store }) => startPlane({ store, time })));
  const [lost, ...away] = ways;
  assert.ok(lost);
  // One write is made and not answered, the others are refused.
  loseNext(lost, { made: true, away: true });
  for (const way of away) way.store.commit = () => Promise.reject(unwritten(new Error('no space left on device')));
  for (const way of ways) way.reset();
  await time.pass(3000);
  for (const way of ways) way.mode.down = false;
  for (const way of away) way.store.commit = whole.commit;
  await time.pass(3000);
  const entries = await lost.entries();
  assert.deepEqual(inWords(entries), ['state_reset: the store came back empty']);
  assert.deepEqual(
    planes.flatMap(({ records }) => records).map(({ attributes }) => attributes['rdcp.audit.id']),
    [entries[0]?.id],
  );
  assert.deepEqual(
    planes.flatMap(({ reports }) => reports).filter((report) => /could not be written/.test(String(report))),
    [],
  );
});

test('a change that goes back in time is not believed before the store was read', async () => {
  const { shared, control, database, time } = await startShared();
  await control(enable());
  await control({ action: 'status' });
  await control(enable());
  await shared.announce(GLOBAL_SCOPE, { revision: 1, settings: new Map(), changedAt: 1 });
  assert.equal(database.enabled, true);
  await time.pass(2000);
  assert.equal(database.enabled, true);
});

test('while the store is down a control of a category that only other processes have is refused', async () => {
  const { shared, control, plane } = await startShared();
  const category = { name: 'ELSEWHERE', description: '', defaultEnabled: false, having: 1 };
  plane.setOthers({ processes: 1, categories: new Map([['ELSEWHERE', category]]) });
  shared.mode.down = true;
  const elsewhere = { ...enable(60), categories: ['ELSEWHERE'] };
  assert.equal(await code(control(elsewhere)), 'RDCP_UNAVAILABLE');
  assert.equal((await control(enable(60))).response.status, 'partial');
});
