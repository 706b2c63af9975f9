/** Set by the full tier for the files that measure, which run when nothing else does. */
export const MEASURING = 'TEST_MEASURES';

/**
 * A bound on time, in milliseconds: as it stands in a file that measures. Elsewhere a test shares the processor with others, so that it is
 * wide enough for a busy machine, and only ends what hangs.
 */
export const atMost = (milliseconds: number): number =>
  process.env[MEASURING] === 'true' ? milliseconds : Math.max(60_000, milliseconds);
