// Every night: five times 52,800 requests, of which each change makes those that tell most (matrix.test.ts).

import { checkMatrix } from './matrix.ts';

for (const level of ['none', 'global', 'process', 'namespace', 'organization'] as const)
  checkMatrix(level, { extent: 'whole' });
