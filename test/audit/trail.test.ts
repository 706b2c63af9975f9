import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogRecord } from '../../src/otel/telemetry.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { AuditDraft } from '../../src/trail/types.ts';
import { createVerifier } from '../../src/trail/verify.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { breakableStore } from '../control/breakable-store.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';
import { DRAFT, openTrail, verify } from './entries.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Setup {
  readonly shared?: ReturnType<typeof breakableStore>;
  readonly instanceId?: string;
  readonly emit?: (record: LogRecord) => void;
  readonly time?: ReturnType<typeof virtualTime>;
}

function startTrail({ shared = breakableStore(), instanceId = 'i-1', emit, time = virtualTime() }: Setup = {}) {
  const records: LogRecord[] = [];
  const reports: unknown[] = [];
  const failures = { count: 0 };
  const trail = openTrail({
    store: shared.store,
    instanceId,
    time,
    emit: emit ?? ((record) => void records.push(record)),
    failed: () => {
      failures.count += 1;
    },
    report: (error) => void reports.push(error),
  });
  return {
    trail,
    shared,
    time,
    records,
    reports,
    failures,
    audits: () => records.filter(({ eventName }) => eventName === 'rdcp.audit'),
    write: (draft: AuditDraft = DRAFT) => trail.record(draft),
  };
}

const stranger = (address: string, fields: Partial<AuditDraft> = {}): AuditDraft => ({
  action: 'authenticate',
  categories: [],
  changes: [],
  outcome: 'denied',
  identity: {},
  requestId: `r-${address}`,
  source: { address, userAgent: 'scanner/1' },
  error: 'RDCP_AUTH_REQUIRED',
  ...fields,
});

/** What is wrong with a trail, as it is found without a word of what is missing. */
function faultsOf(entries: readonly AuditEntry[]): number {
  const verifier = createVerifier();
  for (const entry of entries.toReversed()) verifier.see(entry);
  return verifier.finish().faults;
}

const actionsOf = (entries: readonly AuditEntry[]) => entries.map(({ action }) => action);
const sequences = (entries: readonly AuditEntry[]) => entries.map(({ compliance }) => compliance.sequence);

test('an entry is kept before it is emitted, and every field of it is an attribute', async () => {
  const { trail, shared, records, time } = startTrail();
  await trail.append(DRAFT, async (audit) => {
    const result = await shared.store.commit({ audit, now: time.clock.now() });
    assert.equal(records.length, 0);
    return result;
  });
  const [entry] = await shared.entries();
  assert.ok(entry);
  const [{ attributes, ...record } = { attributes: {} }] = records;
  assert.deepEqual(record, {
    eventName: 'rdcp.audit',
    timestamp: new Date(entry.timestamp),
    severityNumber: 9,
    severityText: 'INFO',
    body: 'enable DATABASE success',
  });
  assert.deepEqual(attributes, {
    'rdcp.audit.id': entry.id,
    'rdcp.audit.timestamp': entry.timestamp,
    'rdcp.action': 'enable',
    'rdcp.outcome': 'success',
    'rdcp.category.names': ['DATABASE'],
    'rdcp.audit.changes': DRAFT.changes,
    'rdcp.auth.method': 'api-key',
    'user.id': 'ops',
    'rdcp.client.id': 'console',
    'rdcp.auth.scopes': ['control'],
    'session.id': 's-1',
    'rdcp.tenant.id': 'acme',
    'rdcp.tenant.name': 'Acme Ltd',
    'rdcp.request.id': 'r-1',
    'rdcp.control.reason': DRAFT.reason,
    'client.address': '192.0.2.7',
    'user_agent.original': 'curl/8',
    'rdcp.security.level': 'standard',
    'rdcp.instance.id': 'i-1',
    'rdcp.audit.chain.id': 'i-1',
    'rdcp.audit.sequence': 1,
    'rdcp.audit.previous_hash': '0'.repeat(64),
    'rdcp.audit.hash': entry.compliance.hash,
    'rdcp.audit.retain_until': entry.compliance.retainUntil,
  });
  assert.equal(Date.parse(entry.compliance.retainUntil) - time.clock.now(), 90 * DAY);
  await trail.close();
});

test('what failed or was refused is a warning, and only the reason of a refusal is one of a few values', async () => {
  const { audits, write } = startTrail();
  for (const outcome of ['success', 'partial', 'failed', 'denied'] as const) {
    await write({ ...DRAFT, outcome, reason: 'why' });
  }
  const shown = audits().map(({ severityText, attributes }) => [
    severityText,
    attributes['rdcp.control.reason'],
    attributes['rdcp.reason'],
  ]);
  assert.deepEqual(shown, [
    ['INFO', 'why', undefined],
    ['INFO', 'why', undefined],
    ['WARN', 'why', undefined],
    ['WARN', undefined, 'why'],
  ]);
});

test('what was not committed is not emitted, and takes no place in the chain', async () => {
  const { trail, shared, audits, write } = startTrail();
  const current = { revision: 7, settings: new Map() };
  await trail.append(DRAFT, async () => ({ outcome: 'conflict', current }));
  await assert.rejects(trail.append(DRAFT, () => Promise.reject(new Error('disk full'))));
  assert.equal(audits().length, 0);
  await write();
  assert.deepEqual(sequences(await shared.entries()), [1]);
});

test('the chain is held from the sealing of an entry until its outcome is known', async () => {
  const { trail, shared, write, time } = startTrail();
  const disk = Promise.withResolvers<void>();
  const first = trail.append(DRAFT, async (audit) => {
    await disk.promise;
    return shared.store.commit({ audit, now: time.clock.now() });
  });
  let went = 0;
  const later = write().then(() => ++went);
  let third: AuditEntry | undefined;
  const failed = assert.rejects(
    trail.append(DRAFT, async (audit) => {
      third = audit;
      throw new Error('disk full');
    }),
  );
  await settled();
  assert.equal(went, 0);
  disk.resolve();
  await Promise.all([first, later, failed]);
  assert.equal(third?.compliance.sequence, 3);
  await write();
  assert.deepEqual(sequences(await shared.entries()), [1, 2, 3]);
  assert.equal(verify(await shared.entries()), undefined);
});

test("a process's chain begins at the newest entry that it finds", async () => {
  const shared = breakableStore();
  await startTrail({ shared }).write();
  await startTrail({ shared, instanceId: 'i-2' }).write();
  const [first, second] = await shared.entries();
  assert.equal(second?.compliance.previousHash, first?.compliance.hash);
  assert.equal(second?.compliance.sequence, 1);
});

test('a logger that throws breaks nothing', async () => {
  const { trail, shared, reports, write, time } = startTrail({
    emit: () => {
      throw new Error('exporter');
    },
  });
  await write();
  assert.equal(trail.defer({ draft: DRAFT }), true);
  trail.refused(stranger('192.0.2.1'));
  await time.pass(HOUR);
  await trail.close();
  assert.equal((await shared.entries()).length, 3);
  assert.ok(reports.length > 0);
});

test('a refusal of a known client is an entry of its own, at severity WARN', async () => {
  const { trail, audits } = startTrail();
  trail.refused({ ...stranger('192.0.2.1'), action: 'authorize', identity: DRAFT.identity, error: 'RDCP_FORBIDDEN' });
  await settled();
  assert.equal(audits().length, 1);
  assert.equal(audits()[0]?.severityText, 'WARN');
  assert.equal(audits()[0]?.attributes['error.type'], 'RDCP_FORBIDDEN');
});

test('refusals of strangers are one entry per address and minute, with their number', async () => {
  const { trail, shared, time } = startTrail();
  for (let index = 0; index < 500; index++) {
    trail.refused(stranger('192.0.2.1', { requestId: `r-${index}` }));
    if (index % 5 === 0)
      trail.refused(stranger('192.0.2.2', { source: { address: '192.0.2.2', userAgent: `${index}` } }));
  }
  trail.refused(stranger('192.0.2.3'));
  await time.pass(MINUTE);
  trail.refused(stranger('192.0.2.1'));
  await time.pass(MINUTE);
  assert.deepEqual(
    (await shared.entries()).map(({ source, count, requestId }) => [source, count, requestId]),
    [
      [{ address: '192.0.2.2' }, 100, undefined],
      [{ address: '192.0.2.1', userAgent: 'scanner/1' }, 500, undefined],
      [{ address: '192.0.2.3', userAgent: 'scanner/1' }, undefined, 'r-192.0.2.3'],
      [{ address: '192.0.2.1', userAgent: 'scanner/1' }, undefined, 'r-192.0.2.1'],
    ],
  );
});

test('a query includes the newest refusals, and frequent queries do not make an entry of each', async () => {
  const { trail, shared, time } = startTrail();
  trail.refused(stranger('192.0.2.1'));
  assert.equal((await trail.query({ limit: 10 })).entries.length, 1);
  for (let index = 0; index < 20; index++) {
    trail.refused(stranger('192.0.2.1'));
    await trail.query({ limit: 10 });
  }
  await time.pass(MINUTE);
  assert.deepEqual(
    (await shared.entries()).map(({ count }) => count),
    [undefined, 20],
  );
});

test('a flood from very many addresses is bounded: the rest becomes one entry without an address', async () => {
  const { trail, shared, time } = startTrail();
  for (let index = 0; index < 5000; index++) trail.refused(stranger(`2001:db8::${index.toString(16)}`));
  await time.pass(MINUTE);
  const entries = await shared.entries();
  assert.equal(entries.length, 51);
  assert.equal(
    entries.reduce((sum, { count = 1 }) => sum + count, 0),
    5000,
  );
  const [elsewhere] = entries.filter(({ source }) => source === undefined);
  assert.equal(elsewhere?.count, 4950);
});

test('frequent queries do not add entries to a flood from very many addresses', async () => {
  const { trail, shared, time } = startTrail();
  for (let index = 0; index < 500; index++) {
    trail.refused(stranger(`2001:db8::${index.toString(16)}`));
    await trail.query({ limit: 1 });
  }
  await time.pass(MINUTE);
  const entries = await shared.entries();
  assert.ok(entries.length <= 101, `${entries.length} entries`);
  assert.equal(
    entries.reduce((sum, { count = 1 }) => sum + count, 0),
    500,
  );
});

test('a known client that is refused again and again has ten entries at once, and one a minute with the rest', async () => {
  const { trail, shared, time } = startTrail();
  const refusal = { ...stranger('192.0.2.1'), identity: DRAFT.identity, error: 'RDCP_FORBIDDEN' };
  for (let index = 0; index < 600; index++) trail.refused(refusal);
  trail.refused({ ...refusal, error: 'RDCP_RATE_LIMITED' });
  await time.pass(MINUTE);
  trail.refused(refusal);
  await time.pass(MINUTE);
  assert.deepEqual(
    (await shared.entries()).map(({ error, count }) => [error, count]),
    [
      ...Array.from({ length: 10 }, () => ['RDCP_FORBIDDEN', undefined]),
      ['RDCP_RATE_LIMITED', undefined],
      ['RDCP_FORBIDDEN', 590],
      ['RDCP_FORBIDDEN', undefined],
    ],
  );
});

test('refusals leave room for what an operator does while the store is away, and are written when it is back', async () => {
  const { trail, shared, time } = startTrail();
  shared.mode.down = true;
  for (let index = 0; index < 3000; index++) {
    const userId = `user-${index % 500}`;
    trail.refused({ ...stranger('192.0.2.1'), identity: { ...DRAFT.identity, userId }, error: 'RDCP_FORBIDDEN' });
  }
  await time.pass(5000);
  const deferred = Array.from({ length: 900 }, () => trail.defer({ draft: DRAFT }));
  assert.ok(deferred.every(Boolean), 'every command is kept');
  shared.mode.down = false;
  await time.pass(2 * MINUTE);
  const entries = await shared.entries();
  assert.equal(entries.filter(({ outcome }) => outcome === DRAFT.outcome).length, 900);
  const refused = entries.filter(({ outcome }) => outcome === 'denied');
  assert.equal(
    refused.reduce((sum, { count = 1 }) => sum + count, 0),
    3000,
  );
  assert.equal(verify(entries), undefined);
});

test('a refusal that could not be written is emitted, and written when the store is back', async () => {
  const { trail, shared, time, audits, failures } = startTrail();
  shared.mode.down = true;
  trail.refused({ ...stranger('192.0.2.1'), identity: DRAFT.identity });
  await time.pass(2000);
  assert.equal(audits().length, 1);
  assert.equal(trail.healthy, false);
  assert.ok(failures.count > 0);
  shared.mode.down = false;
  await time.pass(1000);
  assert.equal(trail.healthy, true);
  assert.equal((await shared.entries()).length, 1);
  assert.equal(audits().length, 1);
});

test('what waits for the store is bounded', async () => {
  const { trail, shared, audits } = startTrail();
  shared.mode.down = true;
  const kept = Array.from({ length: 1500 }, () => trail.defer({ draft: DRAFT }));
  assert.equal(kept.filter(Boolean).length, 1000);
  assert.equal(audits().length, 1000);
});

test('what waits is written at the latest when the trail is closed', async () => {
  for (const [deferred, refused] of [
    [1, 0],
    [0, 1],
    [2, 1],
  ] as const) {
    const { trail, shared } = startTrail();
    for (let index = 0; index < deferred; index += 1) trail.defer({ draft: DRAFT });
    for (let index = 0; index < refused; index += 1) trail.refused(stranger('192.0.2.1'));
    await trail.close();
    const entries = await shared.entries();
    assert.deepEqual([entries.length, verify(entries)], [deferred + refused, undefined]);
  }
});

test('a deferred entry is written although another process answered its request, and a task for all by one of them', async () => {
  for (const [fingerprint, count] of [
    ['of the request', 2],
    ['', 1],
  ] as const) {
    const { trail, shared, time, reports } = startTrail();
    const replay = { key: 'r-1', fingerprint, response: '{}', expiresAt: time.clock.now() + HOUR };
    trail.defer({ draft: DRAFT, replay });
    await startTrail({ shared, time, instanceId: 'i-2' }).trail.record(DRAFT, replay);
    await trail.close();
    const entries = await shared.entries();
    assert.deepEqual([entries.length, verify(entries), reports], [count, undefined, []]);
  }
});

test('a change is written after the deferred entries, which are older', async () => {
  const { trail, shared, write } = startTrail();
  await write();
  trail.defer({ draft: { ...DRAFT, reason: 'older' } });
  await write({ ...DRAFT, reason: 'newer' });
  const [, ...reasons] = (await shared.entries()).map(({ reason }) => reason);
  assert.deepEqual(reasons, ['older', 'newer']);
});

test('what cannot be written even then is reported', async () => {
  const { trail, shared, reports } = startTrail();
  shared.mode.down = true;
  trail.defer({ draft: DRAFT });
  await trail.close();
  assert.match(String(reports.at(-1)), /could not be written: 1$/);
});

test('the head of the chain is emitted every hour and at the end, so that a cut tail shows', async () => {
  const { trail, shared, records, time, write } = startTrail();
  const checkpoints = () => records.filter(({ eventName }) => eventName === 'rdcp.audit.checkpoint');
  await time.pass(HOUR);
  assert.equal(checkpoints().length, 0, 'there is no chain yet');
  await write();
  await write();
  await time.pass(HOUR);
  const head = (await shared.entries()).at(-1)?.compliance;
  const expected = {
    'rdcp.instance.id': 'i-1',
    'rdcp.audit.chain.id': 'i-1',
    'rdcp.audit.sequence': 2,
    'rdcp.audit.hash': head?.hash,
    'rdcp.audit.retain_until': head?.retainUntil,
  };
  assert.deepEqual(checkpoints()[0]?.attributes, expected);
  await trail.close();
  assert.deepEqual(checkpoints()[1]?.attributes, expected);
});

test('the prune entry is kept before the first entry is dropped, so that a process that ends meanwhile leaves a whole trail', async () => {
  const { shared, time, write, reports } = startTrail();
  const { pruneAudit } = shared.store;
  await write();
  await write();
  let atStart: readonly AuditEntry[] = [];
  shared.store.pruneAudit = (now, starting) =>
    pruneAudit(now, async (dropped) => {
      await starting?.(dropped);
      atStart = await shared.entries();
      throw new Error('the process ends here');
    });
  time.suspend(90 * DAY);
  await time.pass(MINUTE);
  assert.deepEqual(actionsOf(atStart), ['enable', 'enable', 'prune']);
  for (const left of [3, 2, 1]) assert.equal(faultsOf(atStart.slice(-left)), 0);
  assert.match(String(reports), /the process ends here/);
});

test('a clock that was ahead for a while leaves no gap where retention ends', async () => {
  const { shared, time, write } = startTrail();
  const start = time.clock.now();
  for (const days of [0, 10, 0]) {
    time.setWall(start + days * DAY);
    await write();
  }
  time.suspend(95 * DAY);
  await time.pass(MINUTE);
  const entries = await shared.entries();
  assert.deepEqual(sequences(entries), [2, 3, 4]);
  assert.equal(faultsOf(entries), 0);
});

test('a clock that was decades ahead for a while retains nothing for decades', async () => {
  const { shared, time, write } = startTrail();
  const start = time.clock.now();
  await write();
  time.setWall(start + 20 * 365 * DAY);
  await write();
  await time.pass(HOUR);
  assert.equal((await shared.entries()).length, 2, 'and nothing is dropped while it is');
  await write();
  time.setWall(start + HOUR);
  await write();
  for (const { compliance } of await shared.entries()) {
    assert.ok(Date.parse(compliance.retainUntil) <= start + 90 * DAY + HOUR, compliance.retainUntil);
  }
  time.suspend(91 * DAY);
  await time.pass(HOUR);
  const entries = await shared.entries();
  assert.deepEqual(actionsOf(entries), ['prune']);
  assert.equal(faultsOf(entries), 0);
});

test('a clock that was set counts for retention once it has kept its new time for a day', async () => {
  const { shared, time, write } = startTrail();
  await write();
  time.setWall(time.clock.now() + 100 * DAY);
  await time.pass(HOUR);
  time.suspend(22 * HOUR);
  await time.pass(HOUR / 2);
  assert.equal((await shared.entries()).length, 1);
  time.suspend(HOUR);
  await time.pass(HOUR);
  assert.deepEqual(actionsOf(await shared.entries()), ['prune']);
});

test('a clock that was years behind at the start, and is set right, ends the retention of nothing', async () => {
  const time = virtualTime(Date.UTC(1970, 0, 2));
  const { shared, write } = startTrail({ time });
  time.setWall(Date.UTC(2026, 0, 1));
  await write();
  await time.pass(MINUTE);
  time.suspend(3 * DAY);
  await time.pass(HOUR);
  await write();
  assert.equal((await shared.entries()).length, 2);
});

test('retention is enforced within a minute of the start, then once an hour', async (t) => {
  const shared = breakableStore();
  const prune = t.mock.method(shared.store, 'pruneAudit');
  const { time } = startTrail({ shared });
  for (const [passing, count] of [
    [MINUTE, 1],
    [HOUR - 2 * MINUTE, 1],
    [MINUTE, 2],
    [HOUR, 3],
  ] as const) {
    await time.pass(passing);
    assert.equal(prune.mock.callCount(), count);
  }
});

test('an entry that was changed is not dropped: it is the evidence', async () => {
  const { shared, time, write } = startTrail();
  await write();
  await write();
  const [, changed] = await shared.entries();
  const { queryAudit } = shared.store;
  const spoiled = breakableStore();
  for (const audit of (await queryAudit({ limit: 10 })).entries.toReversed()) {
    const reason = audit.id === changed?.id ? 'other' : audit.reason;
    await spoiled.store.commit({ audit: { ...audit, ...(reason && { reason }) }, now: 0 });
  }
  time.suspend(91 * DAY);
  const later = startTrail({ shared: spoiled, instanceId: 'i-2', time });
  await later.time.pass(HOUR);
  const left = await spoiled.entries();
  assert.deepEqual(
    left.map(({ id, action }) => [id, action]),
    [
      [changed?.id, 'enable'],
      ['i-2-1', 'prune'],
    ],
  );
  assert.equal(faultsOf(left), 1);
});

test('what need not be retained is dropped, and that is one entry of the processes that share a trail', async () => {
  const shared = breakableStore();
  const trails = ['i-1', 'i-2', 'i-3'].map((instanceId) => startTrail({ shared, instanceId }));
  for (const { write } of trails) await write();
  for (const { time } of trails) time.suspend(90 * DAY);
  for (const { time } of trails) await time.pass(HOUR);
  const entries = await shared.entries();
  assert.deepEqual(actionsOf(entries), ['prune']);
  assert.match(entries[0]?.reason ?? '', /^entries retained until [-\d]+T[:.\d]+Z are dropped$/);
  assert.equal(verify(entries), undefined);
});

test('a trail that cannot be read is a 503 that does not quote the store', async () => {
  const { trail, shared } = startTrail();
  shared.mode.down = true;
  await assert.rejects(trail.query({ limit: 1 }), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'RDCP_UNAVAILABLE');
    assert.doesNotMatch(error.message, /ECONN|10\.0/);
    return true;
  });
});

test('nothing of the trail goes on after it was closed', async () => {
  const { trail, time } = startTrail({ shared: breakableStore(createMemoryStore()) });
  await trail.close();
  assert.equal(time.pending, 0);
});
