import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AlertHistory } from '../../src/control/alerts/history.ts';
import type { AuditQuery } from '../../src/store/state-store.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';

/** A trail, the newest entry first, that counts what is read of it. */
function trailOf(entries: AuditEntry[]) {
  const read = { pages: 0, entries: 0 };
  return {
    read,
    query: async ({ limit, cursor = '0' }: AuditQuery) => {
      const page = entries.slice(Number(cursor), Number(cursor) + limit);
      read.pages += 1;
      read.entries += page.length;
      const end = Number(cursor) + page.length;
      return { entries: page, ...(end < entries.length && { next: `${end}` }) };
    },
  };
}

const entry = (id: number, group?: string, outcome = 'success') =>
  ({
    id: `${id}`,
    timestamp: new Date(id * 1000).toISOString(),
    outcome,
    identity: { userId: group === undefined ? 'ann' : 'alert:rule' },
    requestId: `${group ?? 'request'}.${id}`,
  }) as AuditEntry;

/** So many entries of a person, the newest first. */
const others = (count: number, newest: number) => Array.from({ length: count }, (_, index) => entry(newest - index));

describe('what alerts switched last', () => {
  it('is found however far back, and read once for all rules', async () => {
    const trail = trailOf([...others(3998, 5000), entry(1002, 'a'), entry(1001, 'b')]);
    const history = new AlertHistory(trail);
    for (let rule = 0; rule < 50; rule++) assert.equal(await history.last(`none${rule}`, 0), undefined);
    assert.equal((await history.last('a', 0))?.id, '1002');
    assert.equal((await history.last('b', 0))?.id, '1001');
    assert.ok(trail.read.entries < 4000 + 60 * 20, `${trail.read.entries} entries`);
  });

  it('is the newest that succeeded, of this process or another', async () => {
    const entries = [entry(3, 'a', 'failed'), entry(2, 'a'), entry(1, 'a')];
    const history = new AlertHistory(trailOf(entries));
    assert.equal((await history.last('a', 0))?.id, '2');
    entries.unshift(...others(500, 1000), entry(4, 'a'));
    assert.equal((await history.last('a', 0))?.id, '4');
    assert.equal(await history.last('a', 5000), undefined, 'older than was asked for');
  });

  it('is of the trail as it is, also after the store lost it', async () => {
    const entries = [...others(300, 1000), entry(1, 'a')];
    const history = new AlertHistory(trailOf(entries));
    assert.equal((await history.last('a', 0))?.id, '1');
    entries.splice(0, entries.length, entry(2000));
    assert.equal(await history.last('a', 0), undefined);
  });

  it('is refused rather than searched without end', async () => {
    const history = new AlertHistory(trailOf(others(20_000, 30_000)));
    await assert.rejects(history.last('a', 0), { code: 'RDCP_UNAVAILABLE' });
  });
});
