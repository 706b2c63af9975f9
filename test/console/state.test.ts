import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INITIAL, reduce, type State } from '../../src/console/state/state.ts';
import type { AuditEntry } from '../../src/protocol/audit-messages.ts';
import type { DiscoveredCategory, SessionResponse } from '../../src/protocol/messages.ts';
import type { StateEvent } from '../../src/protocol/streams.ts';

const SESSION = { userId: 'anna', scopes: ['admin'], method: 'api-key' } as unknown as SessionResponse;

function category(name: string, more: Partial<DiscoveredCategory> = {}): DiscoveredCategory {
  return {
    name,
    description: '',
    enabled: false,
    temporary: false,
    metrics: { callsTotal: 3, callsPerSecond: 0 },
    otelrdcp_default: false,
    otelrdcp_origin: 'default',
    ...more,
  };
}

function after(state: State, ...events: unknown[]): State {
  return events.reduce<State>((known, event) => reduce(known, { type: 'event', event: event as StateEvent }), state);
}

const SNAPSHOT = { event: 'snapshot', data: { categories: [category('A'), category('C')], revision: 1 } };
const signedIn = reduce(INITIAL, { type: 'signed-in', session: SESSION });

test('a snapshot replaces what was known, and a changed category keeps its measurements', () => {
  const { metrics: _, ...changed } = category('A', { enabled: true });
  const state = after(signedIn, SNAPSHOT, { event: 'category', data: changed });
  assert.equal(state.categories?.get('A')?.enabled, true);
  assert.equal(state.categories?.get('A')?.metrics.callsTotal, 3);
  assert.deepEqual([...(after(state, SNAPSHOT).categories ?? [])].length, 2);
});

test('a new category takes its place in the order of names', () => {
  const { metrics: _, ...added } = category('B');
  const state = after(signedIn, SNAPSHOT, { event: 'category', data: added });
  assert.deepEqual([...(state.categories?.keys() ?? [])], ['A', 'B', 'C']);
});

test('an event of a newer server changes nothing', () => {
  assert.equal(after(signedIn, { event: 'weather', data: {} }), signedIn);
});

test('an expired session keeps what is shown, and the same person goes on with it', () => {
  const before = reduce(after(signedIn, SNAPSHOT), {
    type: 'known',
    known: { asked: { intent: 'enable', categories: ['A'] } },
  });
  const expired = reduce(before, { type: 'expired' });
  assert.equal(expired.stage, 'expired');
  assert.equal(expired.categories?.size, 2);
  const again = reduce(expired, { type: 'signed-in', session: { ...SESSION, sessionId: 'another' } });
  assert.equal(again.stage, 'signed-in');
  assert.equal(again.categories?.size, 2);
  assert.deepEqual(again.asked, { intent: 'enable', categories: ['A'] });
});

test('another person sees nothing of what the one before had on the screen', () => {
  const expired = reduce(after(signedIn, SNAPSHOT), { type: 'expired' });
  const other = reduce(expired, { type: 'signed-in', session: { ...SESSION, userId: 'bert' } });
  assert.equal(other.categories, undefined);
  assert.equal(reduce(expired, { type: 'signed-out' }).categories, undefined);
});

test('another tenant begins without the settings of the one before', () => {
  const state = reduce(after(signedIn, SNAPSHOT), { type: 'tenant', tenant: 'acme' });
  assert.equal(state.categories, undefined);
  assert.equal(state.tenant, 'acme');
});

function entry(id: string, more: Partial<AuditEntry>): AuditEntry {
  return {
    id,
    timestamp: `2026-01-01T00:00:0${id}.000Z`,
    action: 'enable',
    categories: ['A'],
    changes: [],
    outcome: 'success',
    identity: { userId: 'anna' },
    ...more,
  } as AuditEntry;
}

test('new entries of the trail come first', () => {
  const state = after(signedIn, { event: 'audit', data: entry('1', {}) }, { event: 'audit', data: entry('2', {}) });
  assert.deepEqual(
    state.entries.map(({ id }) => id),
    ['2', '1'],
  );
});

test('receipts are few, and go when somebody has seen them', () => {
  let state = signedIn;
  for (let id = 1; id <= 6; id++) state = reduce(state, { type: 'receipt', receipt: { id, tone: 'good', title: 'x' } });
  assert.deepEqual(
    state.receipts.map(({ id }) => id),
    [3, 4, 5, 6],
  );
  assert.deepEqual(
    reduce(state, { type: 'receipt-seen', id: 4 }).receipts.map(({ id }) => id),
    [3, 5, 6],
  );
});
