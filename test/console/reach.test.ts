import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, isPartlyOn, partsOf, whomOf } from '../../src/tools/console/state/reach.ts';
import type { DiscoveredActivation, DiscoveredCategory, TenantSettings } from '../../src/wire/messages.ts';

const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00.000Z`;

function category(given: Partial<DiscoveredCategory> = {}): DiscoveredCategory {
  return {
    name: 'DATABASE',
    description: '',
    enabled: false,
    temporary: false,
    metrics: { callsTotal: 0, callsPerSecond: 0 },
    otelrdcp_default: false,
    otelrdcp_origin: 'default',
    ...given,
  };
}

function activation(given: Partial<DiscoveredActivation>): DiscoveredActivation {
  return { id: 'a1', categories: ['DATABASE'], expiresAt: at(9), ...given };
}

const SETTINGS: TenantSettings = {
  temporary: 1,
  permanent: 1,
  tenants: [
    { id: 'acme', enabled: true, temporary: false },
    { id: 'beta', enabled: false, temporary: false },
    { id: 'globex', enabled: true, temporary: true, expiresAt: at(5), control: { userId: 'ann', since: at(1) } },
  ],
  more: 0,
};

test('a category that is off is on for its tenants and activations alone, the soonest end first', () => {
  const partly = category({
    otelrdcp_settings: SETTINGS,
    otelrdcp_activations: [activation({ target: { match: { 'user.id': '42' } }, expiresAt: at(3) })],
  });
  assert.equal(isPartlyOn(partly), true);
  assert.deepEqual(
    partsOf(partly).map(({ whom, expiresAt }) => [whom, expiresAt]),
    [
      ['user.id=42', at(3)],
      ['globex', at(5)],
      ['acme', undefined],
    ],
  );
  assert.equal(whomOf(partly, undefined), 'only user.id=42, globex and 1 more');
  assert.equal(endOf(partly), at(3));
});

test('tenants that are off are left out where it is off, and named where it is on for everybody', () => {
  assert.equal(whomOf(category({ otelrdcp_settings: SETTINGS }), undefined), 'only globex, acme');
  const on = category({ enabled: true, otelrdcp_origin: 'global', otelrdcp_settings: SETTINGS });
  assert.equal(whomOf(on, undefined), 'everybody but beta');
  const off: TenantSettings = { temporary: 0, permanent: 0, tenants: SETTINGS.tenants.slice(1, 2), more: 0 };
  assert.equal(isPartlyOn(category({ otelrdcp_settings: off })), false);
});

test('tenants that are not listed are counted', () => {
  const many: TenantSettings = { temporary: 30, permanent: 0, tenants: SETTINGS.tenants.slice(2), more: 29 };
  assert.equal(whomOf(category({ otelrdcp_settings: many }), undefined), 'only globex and 29 more');
});

test('an activation names its work and lines, and says which values are hidden', () => {
  const whom = (given: Partial<DiscoveredActivation>) =>
    whomOf(category({ otelrdcp_activations: [activation(given)] }), undefined);
  assert.equal(whom({ target: { request: true } }), 'only one request');
  assert.equal(whom({ target: { match: { 'user.id': 'hmac:0123456789ab' } } }), 'only user.id=(hidden)');
  assert.equal(whom({ tenant: 'acme', filter: { where: 'rows > 9', sample: 0.01 } }), 'only acme, where rows > 9, 1 %');
  const on = category({ enabled: true, otelrdcp_activations: [activation({ filter: { text: 'query*' } })] });
  assert.equal(whomOf(on, undefined), 'everybody; text query*');
});

test('the end of a category that is on is its own', () => {
  const on = category({ enabled: true, temporary: true, otelrdcp_expiresAt: at(7), otelrdcp_settings: SETTINGS });
  assert.equal(endOf(on), at(7));
  assert.equal(isPartlyOn(on), false);
});
