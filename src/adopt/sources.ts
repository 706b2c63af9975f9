import { OTEL_DIAG } from './otel-diag.ts';
import type { Source } from './types.ts';

/** Every source, one line each. */
export const SOURCES: readonly Source[] = [OTEL_DIAG];
