import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LEVEL } from '../../src/gate/levels.ts';
import type { Level } from '../../src/wire/constants.ts';
import type { ControlRequest } from '../../src/wire/control-request.ts';
import { ACME, code, GLOBAL, startPlane } from './running-plane.ts';

const from = (otelrdcp_level: Level | undefined, options: ControlRequest['options'] = {}): ControlRequest => ({
  action: 'enable',
  categories: ['DATABASE'],
  options: { otelrdcp_level, ...options },
});

/** What the category lets through, of a line that a logger holds back: `silly` where everything, `-` where nothing. */
function leastWritten({ gate }: { readonly gate: Awaited<ReturnType<typeof startPlane>>['gate'] }, tenant?: string) {
  const category = gate.category('DATABASE');
  const ask = () =>
    Object.entries(LEVEL)
      .filter(
        ([, level]) => category.wanted && category.passes({ bytes: 1, describe: () => undefined }, undefined, level),
      )
      .map(([name]) => name)[0] ?? '-';
  return tenant === undefined ? ask() : gate.runWithTenant(tenant, ask);
}

describe('the level of a control', () => {
  it('decides which lines come out, and a later control has its own', async () => {
    const running = await startPlane();
    const { control, stateOf, database } = running;
    assert.equal(leastWritten(running), '-');
    for (const level of Object.keys(LEVEL) as Level[]) {
      const { response } = await control(from(level, { duration: 60 }));
      assert.equal(response.changes[0]?.otelrdcp_level, level);
      assert.equal(stateOf().level, level);
      assert.equal(leastWritten(running), level);
      // A category of the application has debug lines alone.
      assert.equal(database.enabled, LEVEL[level] <= LEVEL.debug);
    }
    const { response } = await control(from(undefined));
    assert.equal(response.changes[0]?.otelrdcp_level, undefined);
    assert.deepEqual([stateOf().level, leastWritten(running), database.enabled], [undefined, 'silly', true]);
  });

  it('is in the sentence of the answer, and in the audit entry', async () => {
    const { control, trail } = await startPlane();
    assert.equal((await control(from('info'))).response.message, 'Enabled DATABASE from info up');
    const quiet = await control(from('warn', { duration: 60 }));
    assert.match(quiet.response.message, /^Enabled DATABASE quiet below warn until /);
    const told = (await trail()).map(({ otelrdcp_level, changes }) => [otelrdcp_level, changes[0]?.otelrdcp_level]);
    assert.deepEqual(told, [
      ['warn', 'warn'],
      ['info', 'info'],
    ]);
  });

  it('that quietens ends by itself, after the usual time where none is given, and what was before shows again', async () => {
    const running = await startPlane();
    const { control, stateOf, time, trail } = running;
    await control(from('debug'));
    await control(from('error'));
    assert.deepEqual([stateOf().temporary, leastWritten(running)], [true, 'error']);
    await time.pass(901_000);
    assert.equal((await trail())[0]?.action, 'expire');
    assert.deepEqual([stateOf().temporary, stateOf().level, leastWritten(running)], [false, 'debug', 'debug']);
  });

  it('that quietens is bounded as every temporary control is', async () => {
    const { control, stateOf } = await startPlane();
    assert.equal(await code(control(from('warn', { duration: 86_401 }))), 'RDCP_MALFORMED_REQUEST');
    assert.equal(stateOf().enabled, false);
  });

  it('ends with a reset, and with one of what is temporary the permanent one shows again', async () => {
    const running = await startPlane();
    const { control } = running;
    await control(from('info'));
    await control(from('warn', { duration: 60 }));
    await control({ action: 'reset', categories: ['DATABASE'], options: { otelrdcp_only: 'temporary' } });
    assert.equal(leastWritten(running), 'info');
    await control(from('warn', { duration: 60 }));
    await control({ action: 'reset', categories: ['DATABASE'] });
    assert.equal(leastWritten(running), '-');
  });

  it('of one tenant is for its lines alone', async () => {
    const running = await startPlane({ options: { isolation: { tenantOf: (key) => key } } });
    const { control, stateOf } = running;
    await control(from('info'));
    await control(from('warn', { duration: 60 }), { scope: ACME });
    assert.deepEqual([leastWritten(running, 'acme'), leastWritten(running, 'other')], ['warn', 'info']);
    assert.deepEqual(stateOf(GLOBAL).tenants?.tenants[0]?.level, 'warn');
    await control({ action: 'reset', categories: ['DATABASE'] }, { scope: ACME });
    assert.equal(leastWritten(running, 'acme'), 'info');
  });
});
