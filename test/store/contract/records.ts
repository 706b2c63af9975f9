import assert from 'node:assert/strict';
import type { RecordStore, RecordWrite } from '../../../src/store/records.ts';
import { NOW } from './samples.ts';
import type { AddCase } from './suite.ts';

const LATER = NOW + 60_000;
const odd = '{"a":"Ünïcode\\n🦊"}\n\u0000 "\\';

const put = (key: string, value: string, expected?: string | null, expiresAt = LATER) =>
  ({ kind: 'session', key, record: { value, expiresAt }, expected }) as const satisfies RecordWrite;

/** The part of the contract that is about records. */
export function recordStoreContract(add: AddCase): void {
  const test = (name: string, run: (opened: { records: RecordStore; other: RecordStore }) => unknown) =>
    add(name, async ({ store, open }) => run({ records: store.records!, other: (await open()).records! }));
  const valuesOf = async (records: RecordStore, keys: readonly string[], now = NOW) =>
    [...(await records.get('session', keys, now))].map(([key, { value }]) => [key, value]).toSorted();

  test('a record comes back as it was written, in every handle, until it ends or is removed', async (opened) => {
    const { records, other } = opened;
    assert.equal(await records.write([put('a', odd), put('b', ''), put('c', 'short', undefined, NOW + 1)], NOW), true);
    assert.deepEqual({ ...(await other.get('session', ['a'], NOW)).get('a') }, { value: odd, expiresAt: LATER });
    assert.deepEqual(await valuesOf(other, ['a', 'b', 'c', 'd']), [
      ['a', odd],
      ['b', ''],
      ['c', 'short'],
    ]);
    assert.deepEqual(await valuesOf(other, ['c'], NOW + 1), []);
    assert.deepEqual(await valuesOf(other, []), []);
    assert.equal((await other.get('member', ['a'], NOW)).size, 0, 'kinds are apart');
    await other.write([{ kind: 'session', key: 'a' }], NOW);
    assert.deepEqual(await valuesOf(records, ['a']), []);
  });

  test('writes take effect all or not at all, by what each expects', async ({ records, other }) => {
    await records.write([put('a', odd), put('ended', 'x', undefined, NOW + 1)], NOW);
    const cases: readonly (readonly [writes: readonly RecordWrite[], now: number, isDone: boolean])[] = [
      [[put('a', '2', '1')], NOW, false],
      [[put('new', 'x', null), put('a', '2', null)], NOW, false],
      [[put('new', 'x', 'y')], NOW, false],
      [[put('new', 'x', null), put('a', '2', odd)], NOW, true],
      [[put('ended', 'y', null)], NOW, false],
      [[put('ended', 'y', null)], NOW + 1, true],
      [[{ kind: 'session', key: 'new', expected: 'other' }], NOW, false],
      [[{ kind: 'session', key: 'new', expected: 'x' }, put('a', '3')], NOW, true],
    ];
    for (const [index, [writes, now, isDone]] of cases.entries())
      assert.equal(await (index % 2 === 0 ? records : other).write(writes, now), isDone, `${index}`);
    assert.deepEqual(await valuesOf(records, ['a', 'new', 'ended']), [
      ['a', '3'],
      ['ended', 'y'],
    ]);
  });

  test('of writes made at once on one value exactly one wins', async ({ records, other }) => {
    for (let round = 0; round < 5; round += 1) {
      const expected = round === 0 ? null : `${round}`;
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 === 0 ? records : other).write([put('a', `${round + 1}`, expected)], NOW),
        ),
      );
      assert.equal(results.filter(Boolean).length, 1);
    }
  });

  test('a list has the records of its kind that have not ended, and how old they are', async ({ records, other }) => {
    const beat = (key: string, value: string, expected?: string): RecordWrite => ({
      kind: 'beat',
      key,
      record: { value, expiresAt: LATER },
      expected,
    });
    const listed = async (now = NOW) => (await other.list('beat', 0, now)).records;
    assert.deepEqual(await listed(), []);
    await records.write([beat('a', '1'), beat('b', odd)], NOW);
    for (let count = 0; count < 12; count += 1) assert.equal(await records.write([beat('a', '1', '1')], NOW), true);
    assert.equal(await records.write([beat('c', '1', '1')], NOW), false);
    const found = (await listed()).toSorted((x, y) => (x.key < y.key ? -1 : 1));
    assert.deepEqual(
      found.map(({ key, value, expiresAt }) => [key, value, expiresAt]),
      [
        ['a', '1', LATER],
        ['b', odd, LATER],
      ],
    );
    for (const { age } of found) assert.ok(age >= 0 && age < 5000, `${age}`);
    assert.deepEqual(await listed(LATER), []);
    await other.write([{ kind: 'beat', key: 'a' }], NOW);
    assert.equal(await records.write([beat('a', '1', '1')], NOW), false, 'it was removed');
    assert.deepEqual(
      (await listed()).map(({ key }) => key),
      ['b'],
    );
  });
}
