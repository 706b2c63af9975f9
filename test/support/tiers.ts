import { test } from 'node:test';

// For test files of the fast tier whose tests differ between the tiers. The full tier runs them again, but of their tests only
// those that are marked here (test/full.ts).

const FULL = process.env.TEST_TIER === 'full';
/** Of so many runs or rows, one is in the fast tier. */
const FAST = 5;

const { only } = test;

/** A test of the full tier alone. */
export const inFull: typeof only = FULL ? only : ((() => Promise.resolve()) as typeof only);
/** A test that the full tier runs again, with all of its {@link runs} or {@link rows}. */
export const inBoth: typeof only = FULL ? only : test;

/** Runs of a property, or the length of a table: a fifth of them in the fast tier. */
export const runs = (all: number): number => (FULL ? all : Math.ceil(all / FAST));
/**
 * Rows of a table: one of each five in the fast tier.
 * @param turn which one: a table that is gone through again and again has all of its rows after five times
 */
export const rows = <T>(all: readonly T[], turn = 0): readonly T[] =>
  FULL ? all : all.filter((_row, index) => (index + turn) % FAST === 0);
