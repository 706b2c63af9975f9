import assert from 'node:assert/strict';
import type { AuditQuery } from '../../../src/store/state-store.ts';
import type { AuditEntry } from '../../../src/wire/audit-messages.ts';
import { isRdcpError } from '../../../src/wire/errors.ts';
import { timestamp } from '../../../src/wire/time.ts';
import { appendAudit, auditEntry, auditIds, DAY, everyEntry, NOW } from './samples.ts';
import type { AddCase } from './suite.ts';

/** Entries that differ in everything that can be asked for. */
const VARIED = Array.from({ length: 24 }, (_, index): Partial<AuditEntry> => {
  const client = [undefined, 'console', 'ci', 'con'][index % 4];
  const tenant = ['acme', undefined, 'acme.eu', '__proto__', undefined][index % 5];
  return {
    timestamp: timestamp(NOW + ((index * 5) % 7) * 60_000),
    action: (['enable', 'toggle', 'expire', 'authorize'] as const)[Math.floor(index / 2) % 4]!,
    outcome: (['success', 'partial', 'failed', 'denied'] as const)[Math.floor(index / 3) % 4]!,
    categories: [[], ['A'], ['AB', 'B'], ['X-C'], ['B', 'A', 'X-C']][index % 5]!,
    identity: client === undefined ? {} : { clientId: client },
    ...(tenant !== undefined && { tenant: { id: tenant } }),
  };
});

/** Filter values: of some entries, the start of such a value, and of no entry. */
const FILTERS = {
  since: [NOW, NOW + 60_000, NOW + 150_000, NOW + 600_000],
  until: [NOW, NOW + 120_000, NOW + 600_000],
  action: ['enable', 'authorize', 'prune'],
  category: ['A', 'AB', 'X-C', 'C'],
  client: ['console', 'con', 'co'],
  outcome: ['success', 'denied'],
  tenant: ['acme', 'acme.eu', '__proto__', 'constructor'],
} as const satisfies { readonly [Name in keyof AuditQuery]?: readonly AuditQuery[Name][] };

/** The part of the contract that is about the audit trail. */
export function auditTrailContract(test: AddCase): void {
  test('an entry comes back exactly as it was written', async ({ store }) => {
    const entry = auditEntry({
      tenant: { id: 'acme', name: 'Ünïcode 🦊 \u0000' },
      count: 3,
      error: 'RDCP_FORBIDDEN',
    });
    await store.commit({ audit: entry, now: NOW });
    assert.deepEqual((await store.queryAudit({ limit: 1 })).entries, [entry]);
    assert.deepEqual(await store.newestAudit(), entry);
  });

  test('order is the order of writing, although clocks disagree', async ({ store }) => {
    const times = [NOW, NOW - DAY, NOW + DAY, NOW - 1];
    const entries = times.map((at) => auditEntry({ timestamp: timestamp(at) }));
    await appendAudit(store, entries);
    assert.deepEqual(await auditIds(store), entries.map(({ id }) => id).toReversed());
    assert.deepEqual(await store.newestAudit(), entries.at(-1));
  });

  test('pages follow each other without gap or overlap while entries are added', async ({ store }) => {
    const entries = Array.from({ length: 7 }, () => auditEntry());
    await appendAudit(store, entries);
    const read: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.queryAudit({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
      read.push(...page.entries.map(({ id }) => id));
      cursor = page.next;
      await appendAudit(store, [auditEntry()]);
    } while (cursor !== undefined);
    assert.deepEqual(read, entries.map(({ id }) => id).toReversed());
  });

  test('the last page has no next, also when it is full', async ({ store }) => {
    await appendAudit(store, [auditEntry(), auditEntry()]);
    assert.equal((await store.queryAudit({ limit: 2 })).next, undefined);
    assert.equal(typeof (await store.queryAudit({ limit: 1 })).next, 'string');
  });

  test('a page ends after two mebibytes of entries, and the next one goes on there', async ({ store }) => {
    const reason = 'x'.repeat(600_000);
    const entries = Array.from({ length: 20 }, () => auditEntry({ reason }));
    await appendAudit(store, entries);
    const read: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.queryAudit({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
      assert.ok(page.entries.length <= 3, `${page.entries.length} entries of 600 kB in a page`);
      read.push(...page.entries.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== undefined);
    assert.deepEqual(read, entries.map(({ id }) => id).toReversed());
  });

  test('a cursor holds when the entry it points at is pruned', async ({ store }) => {
    const kept = [auditEntry(), auditEntry()];
    await appendAudit(store, [...kept, auditEntry({ retainUntil: NOW }), auditEntry()]);
    const { next } = await store.queryAudit({ limit: 2 });
    await store.pruneAudit(NOW);
    const rest = await store.queryAudit({ limit: 10, cursor: next as string });
    assert.deepEqual(
      rest.entries.map(({ id }) => id),
      kept.map(({ id }) => id).toReversed(),
    );
  });

  for (const cursor of [
    '',
    'x',
    '0',
    '-1',
    'MA==',
    "1' OR 1=1",
    'LTE',
    'MWUz',
    'a'.repeat(4000),
    '\u0000',
    'OTk5OTk5OTk5OTk5OTk5OTk5OTk5OQ',
  ]) {
    test(`a cursor that no page gave out is refused: ${JSON.stringify(cursor.slice(0, 30))}`, async ({ store }) => {
      await appendAudit(store, [auditEntry()]);
      await assert.rejects(
        store.queryAudit({ limit: 1, cursor }),
        (error) => isRdcpError(error) && error.code === 'RDCP_MALFORMED_REQUEST' && error.details?.field === 'cursor',
      );
    });
  }

  test('every filter, alone and two at once, on every page, agrees with an array', async ({ store }) => {
    const entries = VARIED.map((fields) => auditEntry(fields));
    await appendAudit(store, entries);
    const filters = Object.entries(FILTERS).flatMap(([name, values]) => values.map((value) => ({ [name]: value })));
    const queries = filters.flatMap((one) => filters.map((other) => ({ ...one, ...other })));
    for (const [index, filter] of queries.entries()) {
      const query: AuditQuery = { ...filter, limit: 1 + (index % 8) };
      assert.deepEqual(await everyEntry(store, query), naive(entries, query), JSON.stringify(query));
    }
  });

  test('pruning drops what need not be retained any longer, and nothing else', async ({ store }) => {
    const entries = [NOW - 2, NOW - 1, NOW, NOW + 1, NOW + DAY].map((retainUntil) => auditEntry({ retainUntil }));
    await appendAudit(store, entries);
    assert.equal(await store.pruneAudit(NOW - DAY), 0);
    assert.equal(await store.pruneAudit(NOW), 3);
    assert.deepEqual(
      await auditIds(store),
      entries
        .slice(3)
        .map(({ id }) => id)
        .toReversed(),
    );
    assert.equal(await store.pruneAudit(NOW), 0);
    assert.equal(await store.pruneAudit(NOW + DAY), 2);
    assert.equal(await store.newestAudit(), undefined);
  });

  test('a prune reports the entries before it drops them, and drops none when that is refused', async ({ store }) => {
    await appendAudit(store, [auditEntry({ retainUntil: NOW }), auditEntry()]);
    const starting = async () => {
      held.push((await auditIds(store)).length);
      return held.length > 1;
    };
    const held: number[] = [];
    assert.equal(await store.pruneAudit(NOW - 1, starting), 0);
    assert.deepEqual(held, []);
    assert.equal(await store.pruneAudit(NOW, starting), 0);
    assert.equal(await store.pruneAudit(NOW, starting), 1);
    assert.deepEqual(held, [2, 2]);
    await assert.rejects(
      store.pruneAudit(NOW + 90 * DAY, () => Promise.reject(new Error('not now'))),
      /not now/,
    );
    assert.equal((await auditIds(store)).length, 1);
  });

  const ofChain = (instanceId: string, number: number, retainUntil: number) => {
    const entry = auditEntry({ retainUntil, id: `${instanceId}-${number}` });
    return {
      ...entry,
      compliance: { ...entry.compliance, instanceId, sequence: number, hash: `${instanceId}${number}` },
    };
  };

  test('a prune drops the oldest entries of each process, up to the first that stays, and reports the last of them', async ({
    store,
  }) => {
    await appendAudit(store, [
      ofChain('a', 1, NOW),
      ofChain('b', 1, NOW + 1),
      ofChain('a', 2, NOW - 1),
      ofChain('b', 2, NOW),
      ofChain('a', 3, NOW + 1),
      ofChain('a', 4, NOW),
      ofChain('c', 1, NOW),
    ]);
    const reported: unknown[] = [];
    const dropped = await store.pruneAudit(NOW, async (heads) => {
      reported.push(...heads);
      return true;
    });
    assert.equal(dropped, 3);
    assert.deepEqual(reported, [
      { instanceId: 'a', sequence: 2, hash: 'a2' },
      { instanceId: 'c', sequence: 1, hash: 'c1' },
    ]);
    assert.deepEqual(await auditIds(store), ['a-4', 'a-3', 'b-2', 'b-1']);
  });

  test('an entry that may not be dropped stays, with what its process wrote after it', async ({ store }) => {
    const entries = ['a', 'b'].flatMap((name) => [1, 2, 3].map((number) => ofChain(name, number, NOW)));
    await appendAudit(store, entries);
    const asked: string[] = [];
    const mayDrop = ({ id }: AuditEntry) => {
      asked.push(id);
      return id !== 'a-2';
    };
    assert.equal(await store.pruneAudit(NOW, undefined, mayDrop), 4);
    assert.deepEqual(await auditIds(store), ['a-3', 'a-2']);
    assert.deepEqual(asked, ['a-1', 'a-2', 'b-1', 'b-2', 'b-3']);
    let started = 0;
    await store.pruneAudit(
      NOW,
      async () => {
        started += 1;
        return true;
      },
      () => false,
    );
    assert.equal(started, 0, 'nothing is reported where nothing is dropped');
  });

  test('a prune entry stays while it explains where a chain begins, and the newest of them stay', async ({ store }) => {
    const prune = (instanceId: string, number: number, ...heads: readonly string[]): AuditEntry => ({
      ...ofChain(instanceId, number, NOW),
      action: 'prune',
      dropped: {
        until: timestamp(NOW),
        chains: heads.map((name) => ({ instanceId: name, sequence: 1, hash: `${name}1` })),
      },
    });
    await appendAudit(store, [
      prune('p', 1, 'gone'),
      ofChain('a', 2, NOW + 1),
      prune('p', 2, 'a'),
      prune('q', 1, 'gone'),
      ofChain('b', 1, NOW),
    ]);
    assert.equal(await store.pruneAudit(NOW), 2);
    assert.deepEqual(await auditIds(store), ['q-1', 'p-2', 'a-2']);
    assert.equal(await store.pruneAudit(NOW + 1), 3);
  });

  test('entries written after everything was pruned can be paged', async ({ store }) => {
    await appendAudit(store, [auditEntry({ retainUntil: NOW })]);
    await store.pruneAudit(NOW);
    const entries = [auditEntry(), auditEntry()];
    await appendAudit(store, entries);
    assert.deepEqual(await everyEntry(store, { limit: 1 }), entries.toReversed());
  });
}

/** The answer that a query must give. */
function naive(entries: readonly AuditEntry[], query: AuditQuery): AuditEntry[] {
  return entries
    .filter((entry) => query.since === undefined || Date.parse(entry.timestamp) >= query.since)
    .filter((entry) => query.until === undefined || Date.parse(entry.timestamp) < query.until)
    .filter((entry) => query.action === undefined || entry.action === query.action)
    .filter((entry) => query.category === undefined || entry.categories.includes(query.category))
    .filter((entry) => query.client === undefined || entry.identity.clientId === query.client)
    .filter((entry) => query.outcome === undefined || entry.outcome === query.outcome)
    .filter((entry) => query.tenant === undefined || entry.tenant?.id === query.tenant)
    .toReversed();
}
