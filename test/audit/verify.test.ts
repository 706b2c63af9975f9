import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { AuditEntry } from '../../src/wire/audit-messages.ts';
import fc from '../support/fast-check.ts';
import { chain, verify } from './entries.ts';

const last = (entries: readonly AuditEntry[]) => entries.at(-1)?.compliance.hash ?? '';

test('the hash is that of the canonical JSON without it, which any tool can compute', () => {
  const [entry] = chain('a', 1);
  assert.ok(entry);
  const { hash, ...compliance } = entry.compliance;
  const sorted = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(sorted)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .sort()
              .map(([name, member]) => [name, sorted(member)]),
          )
        : value;
  const text = JSON.stringify(sorted({ ...entry, compliance }));
  assert.equal(createHash('sha256').update(text, 'utf8').digest('hex'), hash);
});

test('an untouched trail has no fault, also after a way through JSON', () => {
  assert.equal(verify([]), undefined);
  assert.equal(verify(JSON.parse(JSON.stringify(chain('a', 20)))), undefined);
});

test('chains of several processes, each begun at what was newest then, have no fault in the order of writing', () => {
  const a = chain('a', 6);
  const b = chain('b', 4, last(a.slice(0, 2)));
  assert.equal(verify([...a.slice(0, 2), b[0], b[1], a[2], a[3], b[2], a[4], b[3], a[5]] as AuditEntry[]), undefined);
});

test('a change anywhere in an entry is found, at that entry', () => {
  const entries = chain('a', 5);
  const paths = [
    (entry: AuditEntry) => ({ ...entry, outcome: 'failed' as const }),
    (entry: AuditEntry) => ({ ...entry, reason: 'fast' }),
    (entry: AuditEntry) => ({ ...entry, identity: { ...entry.identity, userId: 'somebody' } }),
    (entry: AuditEntry) => ({ ...entry, changes: [] }),
    (entry: AuditEntry) => ({ ...entry, compliance: { ...entry.compliance, sequence: 7 } }),
    (entry: AuditEntry) => ({ ...entry, compliance: { ...entry.compliance, retainUntil: entry.timestamp } }),
    (entry: AuditEntry) => ({ ...entry, compliance: { ...entry.compliance, hash: '0'.repeat(64) } }),
  ];
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.nat(4), (change, at) => {
      const fault = verify(entries.map((entry, index) => (index === at ? change(entry) : entry)));
      assert.equal(fault?.problem, 'hash');
      assert.equal(fault?.entry.id, entries[at]?.id);
    }),
  );
});

test('an entry that was taken out of the middle, or moved, is found at the one after it', () => {
  const entries = chain('a', 6);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), (at) => {
      const fault = verify(entries.toSpliced(at, 1));
      assert.equal(fault?.problem, 'sequence');
      assert.equal(fault?.entry.id, entries[at + 1]?.id);
    }),
  );
  const moved = verify([entries[1], entries[0], ...entries.slice(2)] as AuditEntry[]);
  assert.equal(moved?.problem, 'start');
});

test('an entry that was replaced by one sealed again is found by the link of the next', () => {
  const entries = chain('a', 4);
  const forged = chain('a', 2, 'f'.repeat(64))[1];
  assert.ok(forged);
  const fault = verify([entries[0], forged, ...entries.slice(2)] as AuditEntry[]);
  assert.deepEqual([fault?.problem, fault?.entry.id], ['link', forged.id]);
});

test('the end of a chain that was cut off is found where the next process began at it', () => {
  const a = chain('a', 5);
  const b = chain('b', 2, last(a));
  const fault = verify([...a.slice(0, 3), ...b]);
  assert.deepEqual([fault?.problem, fault?.entry.id], ['link', 'b-1']);
});
