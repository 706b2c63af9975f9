/** Of so many runs, one is in the fast tier. */
const FAST = 5;

/** Runs of a property, or rows of a long table: a fifth of them in the fast tier, all in test/properties.full.ts. */
export const runs = (all: number): number => (process.env.RDCP_ALL_RUNS === '1' ? all : Math.ceil(all / FAST));
