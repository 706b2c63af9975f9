import { CHANNELS } from './channels.ts';
import { DEBUG } from './debug.ts';
import { DEBUGLOG } from './debuglog.ts';
import { NEST } from './nest.ts';
import { OTEL_DIAG } from './otel-diag.ts';
import { PINO } from './pino.ts';
import type { Source } from './types.ts';
import { WINSTON } from './winston.ts';

/** Every source, one line each. */
export const SOURCES: readonly Source[] = [DEBUG, PINO, WINSTON, NEST, DEBUGLOG, CHANNELS, OTEL_DIAG];
