import { checkMatrix } from './matrix.ts';

for (const level of ['none', 'global', 'process', 'namespace', 'organization'] as const) checkMatrix(level);
