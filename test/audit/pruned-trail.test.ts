import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { type ChainHead, hasEnded, hashOf, headOf, NO_PREVIOUS_HASH, seal, unsealed } from '../../src/trail/chain.ts';
import type { AuditDraft } from '../../src/trail/types.ts';
import { type Checkpoint, createVerifier, type Verification } from '../../src/trail/verify.ts';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import { timestamp } from '../../src/wire/time.ts';
import fc from '../support/fast-check.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { chain, chainOf, DRAFT, openTrail } from './entries.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A trail of several processes, written and pruned over months; oldest entry first. */
async function prunedTrail() {
  const store = createMemoryStore();
  const time = virtualTime();
  const checkpoints: Checkpoint[] = [];
  const start = (instanceId: string) =>
    openTrail({
      store,
      time,
      instanceId,
      emit: ({ eventName, attributes }) => {
        if (eventName !== 'rdcp.audit.checkpoint') return;
        checkpoints.push({
          instanceId,
          sequence: Number(attributes['rdcp.audit.sequence']),
          hash: String(attributes['rdcp.audit.hash']),
          retainUntil: String(attributes['rdcp.audit.retain_until']),
        });
      },
    });
  const early = start('early');
  const quiet = start('quiet');
  await quiet.record(DRAFT);
  for (let month = 0; month < 6; month += 1) {
    const passing = start(`passing-${month}`);
    for (let index = 0; index < 2; index += 1) await early.record(DRAFT);
    for (let index = 0; index < 3; index += 1) await passing.record(DRAFT);
    await early.record(DRAFT);
    await passing.close();
    time.suspend(30 * DAY);
    await time.pass(HOUR);
  }
  // Everything that it wrote before is over, and so is what told of that.
  time.suspend(15 * DAY);
  await time.pass(HOUR);
  await quiet.record(DRAFT);
  for (const trail of [early, quiet]) await trail.close();
  const { entries } = await store.queryAudit({ limit: 1000 });
  return { entries: entries.toReversed(), checkpoints, now: time.clock.now() };
}

const { entries: TRAIL, checkpoints: CHECKPOINTS, now: NOW } = await prunedTrail();

function verified(entries: readonly AuditEntry[], checkpoints: readonly Checkpoint[] = []): Verification {
  const verifier = createVerifier({ checkpoints, now: NOW });
  for (const entry of entries.toReversed()) verifier.see(JSON.parse(JSON.stringify(entry)));
  return verifier.finish();
}

const isWhole = ({ faults, cut }: Verification) => faults === 0 && cut.length === 0;
const isLast = (entry: AuditEntry) =>
  TRAIL.findLast(({ compliance }) => compliance.instanceId === entry.compliance.instanceId) === entry;

test('a trail that was pruned again and again is whole, also against every checkpoint since its beginning', () => {
  assert.ok(TRAIL.filter(({ action }) => action === 'prune').length >= 3);
  assert.ok(TRAIL.every(({ action, dropped }) => (action === 'prune') === (dropped !== undefined)));
  const oldestOf = (instanceId: string) => TRAIL.find(({ compliance }) => compliance.instanceId === instanceId);
  assert.ok((oldestOf('early')?.compliance.sequence ?? 0) > 3, 'a part of it was dropped');
  assert.equal(oldestOf('quiet')?.compliance.sequence, 2, 'it wrote again when nothing of it was left');
  assert.equal(oldestOf('passing-0'), undefined, 'all of it was dropped');
  for (const checkpoints of [[], CHECKPOINTS]) {
    const { faults, first, cut, pruned } = verified(TRAIL, checkpoints);
    assert.deepEqual({ faults, first, cut, pruned }, { faults: 0, first: undefined, cut: [], pruned: true });
  }
});

test('any entry that is taken out is missed: the oldest that are left too, and the last of a process by a checkpoint', () => {
  for (const entry of TRAIL) {
    const left = TRAIL.filter((each) => each !== entry);
    assert.equal(isWhole(verified(left, CHECKPOINTS)), false, `${entry.id} against checkpoints`);
    if (!isLast(entry)) assert.equal(isWhole(verified(left)), false, `${entry.id} by itself`);
  }
});

test('the oldest entries of a process, the oldest of all, and a whole process are missed', () => {
  for (let count = 1; count < TRAIL.length; count += 1) {
    assert.equal(isWhole(verified(TRAIL.slice(count), CHECKPOINTS)), false, `the oldest ${count}`);
    assert.equal(isWhole(verified(TRAIL.slice(0, -count), CHECKPOINTS)), false, `the newest ${count}`);
  }
  for (const instanceId of new Set(TRAIL.map(({ compliance }) => compliance.instanceId))) {
    const own = TRAIL.filter(({ compliance }) => compliance.instanceId === instanceId);
    for (let count = 1; count <= own.length; count += 1) {
      const gone = new Set(own.slice(0, count));
      const left = TRAIL.filter((entry) => !gone.has(entry));
      assert.equal(isWhole(verified(left, CHECKPOINTS)), false, `the oldest ${count} of ${instanceId}`);
      if (count < own.length)
        assert.equal(isWhole(verified(left)), false, `the oldest ${count} of ${instanceId}, alone`);
    }
  }
});

test('any change of an entry is found, also when it was sealed again', () => {
  const edits: ((entry: AuditEntry) => AuditEntry)[] = [
    (entry) => ({ ...entry, reason: 'other' }),
    (entry) => ({ ...entry, dropped: { until: entry.timestamp, chains: [] } }),
    (entry) => ({ ...entry, compliance: { ...entry.compliance, previousRetainUntil: '2026-01-01T00:00:00.000Z' } }),
    (entry) => ({ ...entry, compliance: { ...entry.compliance, sequence: entry.compliance.sequence + 1 } }),
  ];
  const sealed = (entry: AuditEntry) => ({ ...entry, compliance: { ...entry.compliance, hash: hashOf(entry) } });
  fc.assert(
    fc.property(fc.nat(TRAIL.length - 1), fc.constantFrom(...edits), fc.boolean(), (at, edit, anew) => {
      const original = TRAIL[at] as AuditEntry;
      const changed = anew ? sealed(edit(original)) : edit(original);
      fc.pre(hashOf(changed) !== hashOf(original));
      assert.equal(isWhole(verified(TRAIL.with(at, changed), CHECKPOINTS)), false);
    }),
    { numRuns: 300 },
  );
});

test('a forged prune does not excuse what a checkpoint says is retained', () => {
  const [victim] = TRAIL.filter(({ compliance }) => compliance.instanceId === 'passing-5') as [AuditEntry];
  const { sequence, hash, instanceId } = victim.compliance;
  const left = TRAIL.filter((entry) => entry !== victim);
  const last = left.at(-1) as AuditEntry;
  const forged = (until: string, dropped?: AuditEntry['dropped'] | 'none', timestamp = last.timestamp): AuditEntry => {
    const entry: AuditEntry = {
      ...last,
      timestamp,
      id: 'forged',
      action: 'prune',
      ...(dropped !== 'none' && { dropped: dropped ?? { until, chains: [{ instanceId, sequence, hash }] } }),
      compliance: { ...last.compliance, sequence: last.compliance.sequence + 1, previousHash: last.compliance.hash },
    };
    return { ...entry, compliance: { ...entry.compliance, hash: hashOf(entry) } };
  };
  const checkpoint = { ...victim.compliance };
  assert.equal(isWhole(verified([...left, forged(last.timestamp)], [checkpoint])), false);
  const future = '2099-01-01T00:00:00.000Z';
  assert.deepEqual(verified([...left, forged(future, undefined, future)], [checkpoint]).cut, [checkpoint]);
  assert.equal(verified([...TRAIL, forged('2099-01-01T00:00:00.000Z')]).first?.problem, 'prune');
  for (const dropped of ['none', { until: last.timestamp, chains: [] }] as const) {
    assert.equal(
      verified([...TRAIL, forged(last.timestamp, dropped)]).first?.message,
      'it does not say what was dropped',
    );
    // Nor does it explain that the rest of the trail is missing.
    assert.equal(verified([last, forged(last.timestamp, dropped)]).first?.problem, 'start');
  }
});

test('a prune explains only the checkpoints of entries that it may have dropped', () => {
  const a = chain('a', 6);
  const headOfA = (at: number) => a[at - 1]!.compliance;
  const until = timestamp(Date.UTC(2026, 0, 1));
  const otherHash = '1'.repeat(64);
  for (const { why, left, says = headOfA(2), at, hash = headOfA(at).hash, isCut } of [
    { why: 'dropped', left: a.slice(2), at: 1, isCut: false },
    { why: 'dropped last', left: a.slice(2), at: 2, isCut: false },
    { why: 'dropped last, as another entry', left: a.slice(2), at: 2, hash: otherHash, isCut: true },
    { why: 'after what was dropped', left: [], at: 3, isCut: true },
    { why: 'dropped with all of its chain', left: [], at: 2, isCut: false },
    {
      why: 'after an entry that is there',
      left: a.slice(0, 4),
      says: chain('c', 1)[0]!.compliance,
      at: 6,
      isCut: true,
    },
  ]) {
    const dropped = { until, chains: [says].map(({ instanceId, sequence, hash }) => ({ instanceId, sequence, hash })) };
    const prune = chain('b', 1, NO_PREVIOUS_HASH, () => ({ action: 'prune', dropped }));
    const { faults, cut } = verified(
      [...left, ...prune],
      [{ instanceId: 'a', sequence: at, hash, retainUntil: until }],
    );
    assert.deepEqual([faults, cut.length], [0, isCut ? 1 : 0], why);
  }
});

interface Write {
  readonly by: string;
  readonly daysLater: number;
  readonly prunes: boolean;
}

/** A trail, oldest entry first. A process begins at the entry that is newest then, as after a rolling restart. */
async function trailOf(writes: readonly Write[]): Promise<AuditEntry[]> {
  const store = createMemoryStore();
  const heads = new Map<string, ChainHead>();
  let now = NOW;
  let ids = 0;
  async function write(by: string, draft: AuditDraft): Promise<boolean> {
    const newest = await store.newestAudit();
    const began = newest ? { ...headOf(newest), sequence: 0 } : { sequence: 0, hash: NO_PREVIOUS_HASH };
    const head = heads.get(by) ?? began;
    const audit = seal(unsealed(draft, chainOf(by), { id: `entry-${++ids}`, now }), head);
    heads.set(by, headOf(audit, head));
    return (await store.commit({ audit, now })).outcome === 'committed';
  }
  for (const { by, daysLater, prunes } of writes) {
    now += daysLater * DAY;
    const until = timestamp(now);
    const starting: Parameters<typeof store.pruneAudit>[1] = (chains) =>
      write(by, { ...DRAFT, action: 'prune', dropped: { until, chains } });
    if (prunes) await store.pruneAudit(now, starting, (entry) => hasEnded(entry, now, chainOf(by).retentionDays));
    await write(by, DRAFT);
  }
  return (await store.queryAudit({ limit: 1000 })).entries.toReversed();
}

test('processes that come and go, and prunes at any time, leave a whole trail, from which no entry can be taken', async () => {
  const write = fc.record({
    by: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    daysLater: fc.integer({ min: 0, max: 45 }),
    prunes: fc.boolean(),
  });
  let pruned = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 5, maxLength: 30 }), async (writes) => {
      const trail = await trailOf(writes);
      const found = verified(trail);
      assert.deepEqual([found.faults, found.first], [0, undefined]);
      if (found.pruned) pruned += 1;
      for (const [at, { id, compliance }] of trail.entries()) {
        const isLast = !trail.slice(at + 1).some((each) => each.compliance.instanceId === compliance.instanceId);
        if (!isLast) assert.equal(isWhole(verified(trail.toSpliced(at, 1))), false, id);
      }
    }),
    { numRuns: 200 },
  );
  assert.ok(pruned > 50, `${pruned} were pruned`);
});
