import { DEBUG } from './debug.ts';
import { OTEL_DIAG } from './otel-diag.ts';
import type { Source } from './types.ts';

/** Every source, one line each. */
export const SOURCES: readonly Source[] = [DEBUG, OTEL_DIAG];
