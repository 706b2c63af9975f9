// In a process of its own: it records calls of the process.

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { runWork } from '../../src/api.ts';
import { NO_END } from '../../src/store/state-store.ts';
import { encodeScope, StoredValues } from '../../src/store/stored-values.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse, StatusResponse } from '../../src/wire/messages.ts';
import type { TestRequest } from '../support/server.ts';
import { startCollected } from './collected.ts';
import { HOUR, startPlane } from './running-plane.ts';

const RECORD = { otelrdcp_record: true };
const FOREVER = { ...RECORD, otelrdcp_permanent: true };
const DAY = 24 * HOUR;

async function start(t: TestContext, config: Parameters<typeof startCollected>[2] = {}) {
  const running = await startCollected(t, 'KEPT', config);
  return {
    ...running,
    recorded: async (rest: TestRequest = {}, name = 'KEPT') => (await running.shown(rest, name))?.otelrdcp_recorded,
  };
}

describe('an enable that records', () => {
  it('writes nothing and counts nothing, and is told apart from on', async (t) => {
    const { category, lines, notices, control, discovered, request } = await start(t);
    const { status, body } = await control('enable', { ...RECORD, duration: '7d', reason: 'complaints' });
    assert.equal(status, 200);
    const { id, expiresAt } = body.otelrdcp_activation!;
    assert.equal(Date.parse(expiresAt!) - Date.parse(body.timestamp), 7 * DAY);
    assert.match(body.message, /^Enabled recording KEPT until /);
    category.debug('a call');
    assert.deepEqual(lines, []);
    const { categories, otelrdcp_recorder } = await discovered();
    const shown = categories.find(({ name }) => name === 'KEPT');
    assert.deepEqual(
      [shown?.enabled, shown?.otelrdcp_recorded, shown?.metrics.callsTotal, shown?.otelrdcp_activations?.[0]?.record],
      [false, true, 0, true],
    );
    assert.deepEqual(Object.keys(otelrdcp_recorder ?? {}), ['works', 'bytes']);
    const state = (await request<StatusResponse>(PATHS.status)).body;
    assert.deepEqual([state.categories.KEPT, state.otelrdcp_recorded], [false, { KEPT: true }]);
    assert.deepEqual(state.otelrdcp_recorder, otelrdcp_recorder);
    assert.equal((await discovered({ key: 'discovery' })).otelrdcp_recorder, undefined);
    await control('reset', { otelrdcp_id: id });
    const { entries } = (await request<AuditResponse>(PATHS.audit)).body;
    assert.deepEqual(
      entries
        .filter(({ otelrdcp_activation: one }) => one !== undefined)
        .map(({ action, otelrdcp_activation: one, reason }) => [action, one?.record, reason]),
      [
        ['reset', true, undefined],
        ['enable', true, 'complaints'],
      ],
    );
    assert.deepEqual(
      notices.filter((notice) => notice.includes('KEPT')),
      ['rdcp: recording KEPT for 7d by admin-client: complaints', 'rdcp: recording KEPT ended by admin-client'],
    );
  });

  it('ends by disable, reset, the end of what is temporary, and its id, also without an end of its own', async (t) => {
    const { control, recorded } = await start(t);
    for (const options of [RECORD, FOREVER]) {
      for (const [action, given] of [
        ['disable', {}],
        ['reset', {}],
        ['reset', { otelrdcp_only: 'temporary' }],
        ['disable', undefined],
      ] as const) {
        const { otelrdcp_activation } = (await control('enable', options)).body;
        assert.equal(otelrdcp_activation?.expiresAt === undefined, options === FOREVER);
        assert.equal(await recorded(), true);
        await control(action, given ?? { otelrdcp_id: otelrdcp_activation?.id });
        assert.equal(await recorded(), undefined, `${action} ${JSON.stringify(given)}`);
      }
    }
  });

  it('refuses what contradicts it, and names the field', async (t) => {
    const { control, recorded } = await start(t, { controls: { maxDuration: '1h' } });
    const rows: [object, string, string?][] = [
      [{ ...RECORD, otelrdcp_when: { failed: true } }, 'options.otelrdcp_when'],
      [{ ...RECORD, otelrdcp_budget: { calls: 1 } }, 'options.otelrdcp_budget'],
      [{ ...RECORD, otelrdcp_sign: true }, 'options.otelrdcp_sign'],
      [{ ...RECORD, otelrdcp_target: { request: true } }, 'options.otelrdcp_target.request'],
      [{ ...RECORD, otelrdcp_level: 'warn' }, 'options.otelrdcp_level'],
      [{ ...RECORD, temporary: false }, 'options.otelrdcp_record'],
      [{ ...RECORD, duration: '8d' }, 'options.duration'],
      [{ otelrdcp_record: false }, 'options.otelrdcp_record'],
      [RECORD, 'options.otelrdcp_record', 'disable'],
      [RECORD, 'options.otelrdcp_record', 'toggle'],
      [{ otelrdcp_permanent: true }, 'options.otelrdcp_permanent'],
      [{ ...FOREVER, duration: '1h' }, 'options.duration'],
      [{ ...FOREVER, temporary: true }, 'options.temporary'],
    ];
    for (const [options, field, action = 'enable'] of rows) {
      const { status, body } = await control<ErrorResponse>(action, options);
      assert.deepEqual([status, body.error?.details?.field], [400, field], JSON.stringify(options));
    }
    const { status, body } = await control<ErrorResponse>('enable', FOREVER, { key: 'control' });
    assert.deepEqual([status, body.error.code], [403, 'RDCP_FORBIDDEN']);
    assert.equal(await recorded(), undefined);
  });
});

describe('what the owner records', () => {
  it('is recorded from the start, until it is switched off for everybody, and again after a reset', async (t) => {
    const { category, control, recorded, rdcp, discovered } = await start(t, {
      recorder: { categories: ['KEP*', 'OTHER'] },
      tenancy: { isolation: 'organization' },
    });
    rdcp.category('KEPT_LATER');
    rdcp.category('NOT_KEPT');
    const names = async () =>
      (await discovered()).categories.filter((each) => each.otelrdcp_recorded).map(({ name }) => name);
    assert.deepEqual(await names(), ['KEPT', 'KEPT_LATER']);
    const work = () => runWork('job', () => category.debug('a call'));
    const works = async () => (await discovered()).otelrdcp_recorder?.works;
    work();
    assert.equal(await works(), 1);
    await control('disable', {}, { headers: { 'X-RDCP-Tenant-ID': 'acme' } });
    assert.equal(await recorded(), true);
    await control('disable', { temporary: true, duration: '1h' });
    assert.deepEqual(await names(), ['KEPT_LATER']);
    await control('enable');
    assert.equal(await recorded(), true);
    await control('disable');
    assert.equal(await recorded(), undefined);
    work();
    assert.equal(await works(), 1);
    await control('reset');
    assert.equal(await recorded(), true);
    work();
    assert.equal(await works(), 2);
  });
});

it('a recording of a tenant is hidden from others', async (t) => {
  const { control, recorded } = await start(t, { tenancy: { isolation: 'organization' } });
  const of = (id: string) => ({ headers: { 'X-RDCP-Tenant-ID': id } });
  await control('enable', RECORD, of('acme'));
  assert.deepEqual(
    [await recorded(of('acme')), await recorded(of('globex')), await recorded()],
    [true, undefined, true],
  );
});

it('a recording lasts a week although other controls may not, and a change of the clock never extends it', async (t) => {
  const parts: [string, boolean | undefined][] = [];
  const { plane, time, control, stateOf, audit } = await startPlane({
    options: {
      limits: { defaultDuration: 900, maxDuration: 3600, maxTemporary: 100, maxCategories: 100 },
      activate: ({ name }, { record }) => {
        parts.push([name, record]);
        return () => void parts.pop();
      },
    },
  });
  t.after(() => Promise.all([plane.close(), audit.close()]));
  const options = { otelrdcp_record: true, duration: 7 * 86_400 } as const;
  await control({ action: 'enable', categories: ['DATABASE'], options });
  await control({
    action: 'enable',
    categories: ['CACHE'],
    options: { otelrdcp_record: true, otelrdcp_permanent: true },
  });
  assert.deepEqual(parts, [
    ['DATABASE', true],
    ['CACHE', true],
  ]);
  time.suspend(6 * DAY);
  assert.equal(stateOf().activations?.length, 1);
  time.setWall(time.clock.now() - 6 * DAY);
  assert.equal(stateOf().activations?.length, 1);
  time.suspend(DAY);
  assert.equal(stateOf().activations, undefined);
  time.suspend(1000 * DAY);
  assert.equal(stateOf(undefined, 'CACHE').activations?.[0]?.activation.expiresAt, NO_END);
});

it('a release that does not know recordings does not write their lines', () => {
  const stored = { id: 'a1', categories: ['KEPT'], record: true as const, expiresAt: NO_END, maskKey: 'k' };
  const json = encodeScope({ settings: new Map(), activations: [stored] });
  assert.equal(JSON.parse(json).activations, undefined);
  assert.deepEqual(new StoredValues().scope(1, 1, json).activations, [stored]);
});
