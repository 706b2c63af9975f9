import { checkMatrix } from './matrix.ts';

for (const level of ['none', 'global', 'process', 'namespace'] as const) checkMatrix(level);
