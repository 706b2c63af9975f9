import assert from 'node:assert/strict';
import { test } from 'node:test';
import { intentsOf, isAllowed, longestAllowed, needsApproval } from '../../src/tools/console/state/intents.ts';
import type { DiscoveredCategory } from '../../src/wire/messages.ts';
import { discovered } from './discovered.ts';

const category = (members: Partial<DiscoveredCategory>) =>
  discovered({ name: 'CACHE', enabled: true, temporary: true, otelrdcp_origin: 'temporary', ...members });
const control = { userId: 'alice', since: '2026-11-22T09:00:00.000Z' };
const offered = (members: Partial<DiscoveredCategory>, tenant?: string) =>
  intentsOf(category(members), tenant).map(([intent]) => intent);

test('a temporary control can be extended and ended; a permanent one can be disabled', () => {
  assert.deepEqual(offered({ otelrdcp_control: control }), ['extend', 'end']);
  const permanent = { temporary: false, otelrdcp_origin: 'global' } as const;
  assert.deepEqual(offered(permanent), ['off'], 'what was forgotten is turned off for good');
  assert.deepEqual(offered({ ...permanent, otelrdcp_default: true }), ['disable']);
  assert.deepEqual(offered({ enabled: false, temporary: false, otelrdcp_origin: 'default' }), ['enable']);
  assert.deepEqual(offered({ enabled: false, otelrdcp_control: control }), ['enable', 'end']);
});

test('a credential with allow is offered its categories, actions and times, and all where others can approve', () => {
  const allow = { categories: ['DB_*', 'HTTP'], actions: ['enable', 'reset'] as const, maxDuration: '15m' };
  const offers = (session: Parameters<typeof isAllowed>[2]) =>
    ['DB_POOL', 'HTTP', 'CACHE'].filter((name) => isAllowed('enable', name, session));
  assert.deepEqual(offers({}), ['DB_POOL', 'HTTP', 'CACHE']);
  assert.deepEqual(offers({ otelrdcp_allow: allow }), ['DB_POOL', 'HTTP']);
  assert.deepEqual(offers({ otelrdcp_allow: allow, otelrdcp_approval: true }), ['DB_POOL', 'HTTP', 'CACHE']);
  const intents = (['enable', 'extend', 'disable', 'toggle', 'end', 'reset', 'tail', 'forecast'] as const).filter(
    (intent) => isAllowed(intent, 'HTTP', { otelrdcp_allow: allow }),
  );
  assert.deepEqual(intents, ['enable', 'extend', 'end', 'reset']);
  const change = { intent: 'enable', categories: ['HTTP'], seconds: 900 } as const;
  const approved = { otelrdcp_allow: allow, otelrdcp_approval: true } as const;
  const waits = (more: object, session: Parameters<typeof needsApproval>[1] = approved) =>
    needsApproval({ ...change, ...more }, session);
  assert.deepEqual([waits({}), waits({ seconds: 901 }), waits({ seconds: undefined })], [false, true, true]);
  assert.deepEqual([waits({ categories: ['CACHE'] }), waits({ intent: 'disable' })], [true, true]);
  assert.equal(waits({ seconds: 901 }, { otelrdcp_allow: allow }), false, 'it is refused');
  assert.equal(longestAllowed({}), undefined);
  assert.equal(longestAllowed({ otelrdcp_allow: allow }), 900);
  assert.equal(longestAllowed({ otelrdcp_allow: allow, otelrdcp_approval: true }), undefined);
});
