import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Occupant, Places } from '../../src/server/connections/connections.ts';
import fc from '../support/fast-check.ts';

interface TestOccupant extends Occupant {
  working: boolean;
  arriving: boolean;
  evicted: boolean;
}

function occupant(address: string | undefined, working = false): TestOccupant {
  const made: TestOccupant = {
    address,
    working,
    arriving: false,
    evicted: false,
    isWorking: () => made.working,
    isArriving: () => made.arriving,
    evict: () => {
      made.evicted = true;
    },
  };
  return made;
}

function places(total: number, perAddress: number) {
  const full: (string | undefined)[] = [];
  return { full, places: new Places({ total, perAddress }, (address) => full.push(address)) };
}

/** Which of them gave up their places. */
const evicted = (occupants: readonly TestOccupant[]) => occupants.map((one) => one.evicted);

test('an address that has used up its share gives up the place that was used longest ago', () => {
  const { places: taken, full } = places(10, 2);
  const [first, second, third] = [occupant('a'), occupant('a'), occupant('a')];
  assert.equal(taken.take(first), true);
  assert.equal(taken.take(second), true);
  taken.used(first);
  assert.equal(taken.take(third), true);
  assert.deepEqual(evicted([first, second, third]), [false, true, false]);
  assert.deepEqual(full, ['a']);
});

test('a place at work is never taken away: the newcomer is refused while all are', () => {
  const { places: taken } = places(10, 2);
  const [first, second] = [occupant('a', true), occupant('a', true)];
  taken.take(first);
  taken.take(second);
  assert.equal(taken.take(occupant('a')), false);
  first.working = false;
  assert.equal(taken.take(occupant('a')), true);
  assert.deepEqual(evicted([first, second]), [true, false]);
});

test('requests that are arriving keep up to half of the places of their address, for which newcomers are refused', () => {
  const { places: taken } = places(10, 4);
  const [arriving, second, third, idle] = Array.from({ length: 4 }, () => occupant('a')) as [
    TestOccupant,
    TestOccupant,
    TestOccupant,
    TestOccupant,
  ];
  for (const one of [arriving, second, third, idle]) taken.take(one);
  for (const one of [arriving, second, third]) one.arriving = true;
  third.working = true;
  assert.equal(taken.take(occupant('a', true)), true);
  assert.deepEqual(evicted([arriving, second, third, idle]), [false, false, false, true]);
  assert.equal(taken.take(occupant('a')), false, 'the newcomer is refused');
  third.working = false;
  assert.equal(taken.take(occupant('a')), true, 'half requests hold no more than half of the places');
  assert.deepEqual(evicted([arriving, second, third]), [false, false, true]);
});

test('where all places are taken the address with the most gives one up, and one with few keeps its own', () => {
  const { places: taken, full } = places(5, 4);
  const many = Array.from({ length: 4 }, () => occupant('many'));
  const few = occupant('few');
  taken.take(few);
  for (const one of many) taken.take(one);
  assert.equal(taken.take(occupant('other')), true);
  assert.deepEqual(evicted([few, ...many]), [false, true, false, false, false]);
  assert.deepEqual(full, [undefined]);
});

test('one that no address counts may have all places that are left, and is the last to give one up', () => {
  const { places: taken } = places(6, 2);
  const proxy = Array.from({ length: 5 }, () => occupant(undefined));
  const client = occupant('a');
  for (const one of [...proxy, client]) assert.equal(taken.take(one), true);
  assert.equal(taken.take(occupant('b')), true);
  assert.deepEqual(evicted([client, ...proxy]), [true, false, false, false, false, false]);
});

test('however they come and go, no limit is exceeded and none at work is ended', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', undefined), fc.boolean(), fc.nat(9)), { maxLength: 60 }),
      (steps) => {
        const { places: taken } = places(6, 3);
        const inside: TestOccupant[] = [];
        for (const [address, working, leaving] of steps) {
          const newcomer = occupant(address, working);
          if (taken.take(newcomer)) inside.push(newcomer);
          const [gone] = leaving < inside.length ? inside.splice(leaving, 1) : [];
          if (gone !== undefined) taken.leave(gone);
          const open = inside.filter((one) => !one.evicted);
          assert.ok(open.length <= 6);
          for (const each of ['a', 'b', 'c']) assert.ok(open.filter((one) => one.address === each).length <= 3);
          assert.ok(inside.every((one) => !(one.working && one.evicted)));
        }
      },
    ),
  );
});
