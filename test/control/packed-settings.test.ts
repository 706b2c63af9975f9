import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createSettingsPacker } from '../../src/control/packed-settings.ts';
import type { Overlay, Setting } from '../../src/store/state-store.ts';

const plain = { noNullPrototype: true };
const overlay: fc.Arbitrary<Overlay> = fc.record({ enabled: fc.boolean(), expiresAt: fc.nat() }, plain);
const by = fc.oneof(
  fc.constant({ userId: 'who made all of it', at: 0 }),
  fc.record({ userId: fc.string(), reason: fc.string(), at: fc.nat() }, plain),
);
const setting: fc.Arbitrary<Setting> = fc.oneof(
  fc.record({ permanent: fc.boolean() }, plain),
  fc.record({ permanent: fc.boolean(), by }, plain),
  fc.record({ permanent: fc.boolean(), by, temporary: overlay }, plain),
  fc.record({ temporary: overlay }, plain),
  fc.record({ permanent: fc.boolean(), temporary: overlay }, plain),
);
const name = fc.oneof(
  fc.nat({ max: 30 }).map((number) => `C${number}`),
  fc.nat({ max: 4095 }).map((number) => `C${number}`),
);
const settings = fc.array(fc.tuple(name, setting), { maxLength: 60 }).map((entries) => new Map(entries));

describe('packed settings', () => {
  test('say what the map said that they were made of, whatever else was packed beside it', () => {
    fc.assert(
      fc.property(fc.array(settings, { minLength: 1, maxLength: 5 }), fc.array(name), (maps, names) => {
        const pack = createSettingsPacker();
        const packed = maps.map(pack);
        for (const [index, map] of maps.entries()) {
          const small = packed[index];
          assert.ok(small);
          assert.equal(small.size, map.size);
          assert.deepEqual(new Map(small), map);
          for (const each of [...names, ...map.keys()]) {
            assert.deepEqual(small.get(each), map.get(each));
            assert.equal(small.has(each), map.has(each));
            assert.equal(small.get(each)?.temporary, map.get(each)?.temporary, 'the very same overlay');
          }
          assert.deepEqual(
            [...small.keys()],
            [...small].map(([key]) => key),
          );
          assert.deepEqual(
            [...small.values()],
            [...small].map(([, value]) => value),
          );
          const visited = new Map<string, Setting>();
          small.forEach((value, key, whole) => {
            assert.equal(whole, small);
            visited.set(key, value);
          });
          assert.deepEqual(visited, map);
          assert.equal(pack(small), small);
          assert.equal(createSettingsPacker()(small), small);
        }
      }),
    );
  });

  test('are left as they are where there are more names than numbers', () => {
    const pack = createSettingsPacker();
    const many = new Map(Array.from({ length: 8193 }, (_, index) => [`C${index}`, { permanent: true }]));
    assert.equal(pack(many), many);
    const known = new Map([['C0', { permanent: false }]]);
    assert.deepEqual(new Map(pack(known)), known);
    const unknown = new Map([['LATER', { permanent: false }]]);
    assert.equal(pack(unknown), unknown);
  });
});
