import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditFilter } from '../../src/client.ts';
import { type AuditSearch, serverFilter, wantedOf } from '../../src/tools/console/views/audit/audit-filter.ts';
import { AuditPages } from '../../src/tools/console/views/audit/audit-pages.ts';
import { ChainCheck } from '../../src/tools/console/views/audit/chain-check.ts';
import { changesText, whoOf } from '../../src/tools/console/views/audit/entry-text.ts';
import { NO_PREVIOUS_HASH, seal, unsealed } from '../../src/trail/chain.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import type { ChangeRecord } from '../../src/wire/messages.ts';

const digest = (data: Uint8Array<ArrayBuffer>) => crypto.subtle.digest('SHA-256', data);
const START = Date.UTC(2026, 0, 31);

/** A chain as the server writes it, newest first. */
function trail(length: number, instanceId = 'p1'): AuditEntry[] {
  const chain = { securityLevel: 'basic', instanceId, retentionDays: 90 } as const;
  const entries: AuditEntry[] = [];
  let head: Parameters<typeof seal>[1] = { sequence: 0, hash: NO_PREVIOUS_HASH };
  for (let number = 1; number <= length; number++) {
    const userId = number % 10 === 0 ? 'eve' : 'alice';
    const draft = {
      action: 'enable',
      categories: ['DATABASE'],
      changes: [],
      outcome: 'success',
      identity: { userId, clientId: 'cli' },
      reason: `reason ${number}: ä, \ud800, 1e21`,
    } as const;
    const now = START + number * 1000;
    const entry = seal(unsealed(draft, chain, { id: `${instanceId}-${number}`, now }), head);
    head = entry.compliance;
    entries.unshift(entry);
  }
  return entries;
}

/** Serves a trail page by page. */
function served(entries: AuditEntry[], wanted: AuditSearch = {}) {
  const asked: AuditFilter[] = [];
  const fetch = async (filter: AuditFilter) => {
    asked.push(filter);
    const from = Number(filter.cursor ?? 0);
    const to = from + (filter.limit ?? 100);
    return {
      protocol: 'rdcp/1.0' as const,
      timestamp: '2026-01-31T00:00:00.000Z',
      entries: entries.slice(from, to),
      ...(to < entries.length && { otelrdcp_next: String(to) }),
    };
  };
  const problemOf = () => ({ status: 'failed' as const, title: 'failed' });
  const pages = new AuditPages(wanted, { fetch, digest, problemOf, changed: () => undefined });
  return { pages, asked };
}

test('a changed entry is found by its hash, and one that was sealed again by its link', async () => {
  const entries = trail(10);
  const [changed, sealed] = [entries[3]!, entries[6]!];
  entries[3] = { ...changed, reason: 'something else' };
  const { compliance, ...rest } = sealed;
  const before = entries[7]!.compliance;
  entries[6] = seal({ ...rest, reason: 'something else', compliance }, before);
  const [damaged] = trail(1, 'p2') as [AuditEntry];
  const broken = { ...damaged, compliance: { ...damaged.compliance, hash: '', sequence: 0 } };
  const state = await new ChainCheck(digest).add([...entries, broken]);
  assert.deepEqual(state.changed, [changed.id, damaged.id]);
  assert.deepEqual(state.unlinked, [entries[5]!.id]);
});

test('entries that are not loaded are a gap, not a fault', async () => {
  const entries = trail(10).filter((_, index) => index !== 4 && index !== 5);
  const state = await new ChainCheck(digest).add([...entries, ...trail(3, 'p2')]);
  assert.deepEqual([state.missing, state.unlinked, state.links], [2, [], 8]);
});

test('a filter of the page itself searches several pages', async () => {
  const entries = trail(1000);
  const { pages, asked } = served(entries, { text: 'reason 5:' });
  while (!pages.isComplete) await pages.more();
  assert.deepEqual(
    pages.entries.map(({ id }) => id),
    ['p1-5'],
  );
  assert.deepEqual([asked.length, pages.searched], [5, 1000]);
});

test('new entries come to the front, each once, also those of which it hears while it loads', async () => {
  const entries = trail(10);
  const shown = entries.slice(2);
  const { pages, asked } = served(shown, { who: 'ALICE' });
  await Promise.all([pages.more(), pages.refresh()]);
  assert.equal(asked.length, 2);
  shown.unshift(...entries.slice(0, 2));
  await pages.refresh();
  assert.deepEqual(pages.entries[0]?.id, 'p1-9', 'the newest is of somebody else');
  assert.deepEqual([pages.searched, pages.entries.length], [10, 9]);
});

test('after a gap in the event stream the newest page is loaded again, and joined or shown alone', async () => {
  const entries = trail(700);
  const shown: AuditEntry[] = entries.slice(690);
  const { pages } = served(shown);
  await pages.more();
  for (const [from, count, isComplete] of [
    [600, 100, true],
    [0, 200, false],
  ] as const) {
    shown.splice(0, shown.length, ...entries.slice(from));
    await pages.refresh();
    assert.deepEqual([pages.entries.length, pages.isComplete], [count, isComplete]);
  }
});

test('a failure is shown, and the next attempt goes on', async () => {
  let fails = true;
  const pages = new AuditPages(
    {},
    {
      fetch: async () => {
        if (fails) throw new Error('away');
        return { protocol: 'rdcp/1.0', timestamp: '', entries: trail(2) };
      },
      digest: undefined,
      problemOf: () => ({ status: 'offline', title: 'away' }),
      changed: () => undefined,
    },
  );
  await pages.more();
  assert.equal(pages.problem?.status, 'offline');
  fails = false;
  await pages.more();
  assert.deepEqual([pages.problem, pages.entries.length, pages.chain], [undefined, 2, undefined]);
});

test('the address holds the search, without empty values and invalid times', () => {
  const query = 'category=database&action=enable&outcome=denied&since=2026-01-31T12:30&until=soon&who=%20eve&text=';
  const wanted = wantedOf(new URLSearchParams(query));
  assert.deepEqual(wanted, {
    category: 'database',
    action: 'enable',
    outcome: 'denied',
    since: '2026-01-31T12:30',
    who: 'eve',
  });
  assert.deepEqual(serverFilter(wanted), {
    category: 'DATABASE',
    action: 'enable',
    outcome: 'denied',
    since: new Date(2026, 0, 31, 12, 30),
  });
  assert.deepEqual(wantedOf(new URLSearchParams('other=x&until=')), {});
});

test('changes and people in a few words', () => {
  const change = (previousState: boolean, newState: boolean): ChangeRecord => ({
    category: 'A',
    previousState,
    newState,
    temporary: true,
    effectiveAt: '',
  });
  assert.equal(changesText([]), '');
  assert.equal(changesText([change(false, true)]), 'off → on');
  assert.equal(changesText([change(true, true)]), 'stays on');
  assert.equal(changesText([{ ...change(true, true), otelrdcp_level: 'warn' }]), 'on → quiet below warn');
  assert.equal(changesText([change(false, true), change(false, true)]), '2 × off → on');
  assert.equal(changesText([change(false, true), change(true, false)]), '2 changes');
  assert.equal(whoOf({ action: 'enable', identity: { userId: 'eve', clientId: 'cli' } }), 'eve (cli)');
  assert.equal(whoOf({ action: 'enable', identity: { userId: 'eve', clientId: 'eve' } }), 'eve');
  assert.equal(whoOf({ action: 'expire', identity: {} }), 'the server');
  assert.equal(whoOf({ action: 'authenticate', identity: {} }), 'unknown');
});
