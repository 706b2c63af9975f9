import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastSwitch } from '../../src/control/alerts/alert-controls.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { auditEntry } from '../store/contract/samples.ts';

const RULE = { userId: 'alert:rule', clientId: 'alert.rule' };

/** What group `a` of the rule switched last in a trail, the oldest entry first. */
async function lastOf(entries: readonly Partial<AuditEntry>[], since = 0): Promise<string | undefined> {
  const store = createMemoryStore();
  for (const [index, entry] of entries.entries()) {
    const timestamp = new Date((index + 1) * 1000).toISOString();
    await store.commit({ audit: auditEntry({ id: `${index}`, timestamp, identity: RULE, ...entry }), now: 0 });
  }
  const trail = { query: store.queryAudit };
  return (await lastSwitch({ trail, identity: RULE, groupId: 'a', since }))?.id;
}

const a = { requestId: 'a.1' };
const others = Array.from({ length: 500 }, () => ({ requestId: 'b.1' }));
for (const [what, entries, since, expected] of [
  ['is the newest of its group that succeeded', [a, a, { ...a, outcome: 'failed' }, { requestId: 'b.1' }], 0, '1'],
  ['is found however far back', [a, ...others], 0, '0'],
  ['is not older than was asked for', [a, { requestId: 'b.1' }], 1001, undefined],
  ['is not what a client of the same name has done', [{ ...a, identity: { ...RULE, userId: 'ann' } }], 0, undefined],
] as const) {
  test(`what a group of alerts switched last ${what}`, async () => {
    assert.equal(await lastOf(entries, since), expected);
  });
}

test('the trail is not searched without end', async () => {
  const trail = { query: async () => ({ entries: [], next: 'more' }) };
  await assert.rejects(lastSwitch({ trail, identity: RULE, groupId: 'a', since: 0 }), { code: 'RDCP_UNAVAILABLE' });
});
