import { inFull } from '../support/tiers.ts';
import { checkMatrix } from './matrix.ts';

checkMatrix('organization', { extent: 'brief' });
for (const level of ['none', 'global', 'process', 'namespace'] as const)
  checkMatrix(level, { extent: 'brief', declare: inFull });
