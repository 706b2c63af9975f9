import { describe } from 'node:test';
import { leavesNothing, pinoCases } from './pino-cases.ts';

for (const copy of ['pino-9.13', 'pino-9']) describe(copy, () => pinoCases(copy));

for (const copy of ['pino-8', 'pino-9.13', 'pino-9', 'pino']) describe(copy, () => leavesNothing(copy, 50_000));
