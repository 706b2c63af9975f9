import type { Source } from './types.ts';

/** Every source, one line each. */
export const SOURCES: readonly Source[] = [];
