import assert from 'node:assert/strict';
import { test } from 'node:test';
import { intentsOf, isForEverybody } from '../../src/console/state/intents.ts';
import type { DiscoveredCategory } from '../../src/protocol/messages.ts';

const category = (members: Partial<DiscoveredCategory>): DiscoveredCategory => ({
  name: 'CACHE',
  description: '',
  enabled: true,
  temporary: true,
  metrics: { callsTotal: 0, callsPerSecond: 0 },
  otelrdcp_default: false,
  otelrdcp_origin: 'temporary',
  ...members,
});
const control = { userId: 'alice', since: '2026-11-22T09:00:00.000Z' };
const offered = (members: Partial<DiscoveredCategory>, tenant?: string) =>
  intentsOf(category(members), tenant).map(([intent]) => intent);

test('what is on for a while can be prolonged and ended; what is permanent can be disabled', () => {
  assert.deepEqual(offered({ otelrdcp_control: control }), ['prolong', 'end']);
  assert.deepEqual(offered({ temporary: false, otelrdcp_origin: 'global' }), ['disable']);
  assert.deepEqual(offered({ enabled: false, temporary: false, otelrdcp_origin: 'default' }), ['enable']);
  assert.deepEqual(offered({ enabled: false, otelrdcp_control: control }), ['enable', 'end']);
});

test('a tenant can overrule what is on for everybody, not end it', () => {
  assert.equal(isForEverybody(category({}), 'acme'), true);
  assert.deepEqual(offered({}, 'acme'), ['disable']);
  assert.deepEqual(offered({ enabled: false }, 'acme'), ['enable']);
  assert.equal(isForEverybody(category({ otelrdcp_control: control }), 'acme'), false);
  assert.deepEqual(offered({ otelrdcp_control: control }, 'acme'), ['prolong', 'end']);
});
