import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ring, type RingEntry } from '../../src/calls/recorder/ring.ts';
import fc from '../support/fast-check.ts';

const entry = fc.record<RingEntry>(
  {
    endedAt: fc.nat(1_000_000),
    failed: fc.boolean(),
    milliseconds: fc.double({ min: 0, noNaN: true }),
    categories: fc.uniqueArray(fc.nat(4095), { maxLength: 20 }),
    text: fc.string({ unit: 'binary', maxLength: 260 }).map((text) => text.toWellFormed()),
  },
  { noNullPrototype: true },
);

const endedAt = (time: number, text = '{}'): RingEntry => ({
  ...{ endedAt: time, failed: false, milliseconds: 1, categories: [1], text },
});

const readAll = (ring: Ring): RingEntry[] =>
  [...ring.upTo(ring.end)].map(({ text, ...rest }) => ({ ...rest, text: text() }));

describe('a ring of bytes', () => {
  it('holds the newest entries, whole and in order, and never more bytes than its size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 64, max: 4000 }), fc.array(entry, { maxLength: 60 }), (size, entries) => {
        const ring = new Ring(size);
        const added = entries.filter((each) => ring.add(each) !== undefined);
        const held = readAll(ring);
        assert.deepEqual(held, added.slice(added.length - held.length));
        assert.equal(ring.entries, held.length);
        assert.ok(ring.bytes <= size, `${ring.bytes} of ${size} bytes`);
        // Only an entry that is larger than the ring is refused, and the newest one is always there.
        if (added.length > 0) assert.ok(held.length > 0);
        assert.equal(ring.lostUntil, added[added.length - held.length - 1]?.endedAt);
      }),
    );
  });

  it('drops what ended before a time, from the oldest on', () => {
    const ring = new Ring(10_000);
    for (const time of [1, 2, 3, 4]) ring.add(endedAt(time));
    ring.dropOutside(3, 100);
    assert.deepEqual(
      readAll(ring).map(({ endedAt }) => endedAt),
      [3, 4],
    );
    assert.equal(ring.lostUntil, undefined);
    ring.clear();
    assert.deepEqual([readAll(ring), ring.bytes], [[], 0]);
  });

  it('leaves out what had to make room while it is read', () => {
    const ring = new Ring(1000);
    const text = 'x'.repeat(200);
    for (const time of [1, 2, 3, 4]) ring.add(endedAt(time, text));
    const reading = ring.upTo(ring.end);
    assert.equal(reading.next().value?.endedAt, 1);
    for (const time of [5, 6]) ring.add(endedAt(time, text));
    assert.deepEqual(
      [...reading].map((entry) => [entry.endedAt, entry.text()]),
      [
        [3, text],
        [4, text],
      ],
    );
  });
});
