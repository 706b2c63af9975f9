import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createBits, hasBit, readOverride, withOverride, withOverrides } from '../../src/gate/bits.ts';

const LIMIT = 4096;

const changes = (maxIndex: number, maxLength: number) =>
  fc.array(fc.tuple(fc.nat({ max: maxIndex }), fc.option(fc.boolean(), { nil: undefined })), { maxLength });

describe("a tenant's packed overrides", () => {
  test('hold what a map would, as a list and as a bitmap', () => {
    fc.assert(
      fc.property(fc.oneof(changes(LIMIT - 1, 60), changes(40, 200)), (sequence) => {
        const expected = new Map<number, boolean>();
        let packed: string | undefined;
        for (const [index, on] of sequence) {
          packed = withOverride(packed, index, on);
          if (on === undefined) expected.delete(index);
          else expected.set(index, on);
        }
        assert.equal(packed === undefined, expected.size === 0);
        if (packed === undefined) return;
        const over = [createBits(), createBits().fill(0xffffffff)].map((base) => withOverrides(base, packed));
        for (let index = 0; index < LIMIT; index++) {
          const on = expected.get(index);
          assert.equal(readOverride(packed, index), on);
          assert.deepEqual(
            over.map((words) => hasBit(words, index)),
            [on ?? false, on ?? true],
          );
        }
      }),
    );
  });

  test('are the same string whatever the order they were set in', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: 200 }), { maxLength: 150 }), (indexes) => {
        const build = (order: readonly number[]) =>
          order.reduce<string | undefined>((packed, index) => withOverride(packed, index, index % 2 === 0), undefined);
        assert.equal(build(indexes), build([...indexes].sort((a, b) => a - b)));
      }),
    );
  });

  test('take two bytes for each of a few, and two bits for each category when all are overridden', () => {
    const few = withOverride(withOverride(undefined, 4095, true), 7, false);
    assert.equal(few?.length, 2);
    let all: string | undefined;
    for (let index = 0; index < 1024; index++) all = withOverride(all, index, true);
    assert.ok((all?.length ?? 0) * 2 <= 260);
  });
});
