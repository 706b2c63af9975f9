import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PageState } from '../../src/tools/console/state/state.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import type { DiscoveredCategory, SessionResponse } from '../../src/wire/messages.ts';
import type { StateEvent } from '../../src/wire/streams.ts';
import { discovered } from './discovered.ts';

const SESSION = { userId: 'anna', scopes: ['admin'], method: 'api-key' } as unknown as SessionResponse;

const category = (name: string, more: Partial<DiscoveredCategory> = {}) =>
  discovered({ name, metrics: { callsTotal: 3, callsPerSecond: 0 }, ...more });

/** The state of a page that is signed in, after some events. */
function signedIn(...events: unknown[]): PageState {
  const state = new PageState();
  state.signIn(SESSION);
  for (const event of events) state.receive(event as StateEvent);
  return state;
}

/** The values of all signals. */
function valuesOf(state: PageState): unknown[] {
  return Object.values(state).map((signal: { value: unknown }) => signal.value);
}

const SNAPSHOT = { event: 'snapshot', data: { categories: [category('A'), category('C')], revision: 1 } };

test('a snapshot replaces what was known, and a changed category keeps its measurements', () => {
  const { metrics: _, ...changed } = category('A', { enabled: true });
  const state = signedIn(SNAPSHOT, { event: 'category', data: changed });
  assert.equal(state.categories.value?.get('A')?.enabled, true);
  assert.equal(state.categories.value?.get('A')?.metrics.callsTotal, 3);
  const { metrics: __, ...added } = category('B');
  state.receive({ event: 'category', data: added } as StateEvent);
  assert.deepEqual([...(state.categories.value?.keys() ?? [])], ['A', 'B', 'C'], 'in the order of names');
  state.receive(SNAPSHOT as unknown as StateEvent);
  assert.equal(state.categories.value?.size, 2);
});

test('an event of a newer server changes nothing', () => {
  const state = signedIn();
  const before = valuesOf(state);
  state.receive({ event: 'weather', data: {} } as unknown as StateEvent);
  assert.deepEqual(valuesOf(state), before);
});

test('an expired session keeps what is shown for the same person, and nothing for another one', () => {
  for (const userId of ['anna', 'bert']) {
    const state = signedIn(SNAPSHOT);
    state.asked.value = { intent: 'enable', categories: ['A'] };
    state.stage.value = 'expired';
    state.signIn({ ...SESSION, userId, sessionId: 'another' });
    assert.equal(state.stage.value, 'signed-in');
    assert.deepEqual(
      [state.categories.value?.size, state.asked.value?.intent],
      userId === 'anna' ? [2, 'enable'] : [undefined, undefined],
    );
  }
});

test('signing out forgets everything but the server, and another tenant the settings of the one before', () => {
  const state = signedIn(SNAPSHOT, { event: 'audit', data: entry('1') });
  state.chooseTenant('acme');
  assert.deepEqual([state.categories.value, state.tenant.value, state.entries.value.length], [undefined, 'acme', 1]);
  state.announcement.value = 'enabled';
  state.signOut();
  const expected = new PageState();
  expected.stage.value = 'signed-out';
  assert.deepEqual(valuesOf(state), valuesOf(expected));
});

function entry(id: string): AuditEntry {
  return {
    id,
    timestamp: `2026-01-01T00:00:0${id}.000Z`,
    action: 'enable',
    categories: ['A'],
  } as unknown as AuditEntry;
}

test('new entries of the trail come first; receipts are few, and go when they are dismissed', () => {
  const state = signedIn({ event: 'audit', data: entry('1') }, { event: 'audit', data: entry('2') });
  const idsOf = (all: readonly { readonly id: number | string }[]) => all.map(({ id }) => id);
  assert.deepEqual(idsOf(state.entries.value), ['2', '1']);
  for (let id = 1; id <= 6; id++) state.addReceipt({ id, tone: 'good', title: 'x' });
  state.dismissReceipt(4);
  assert.deepEqual(idsOf(state.receipts.value), [3, 5, 6]);
});
