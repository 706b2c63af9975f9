import { checkMatrix } from './matrix.ts';

for (const level of ['global', 'process', 'namespace'] as const) checkMatrix(level);
