import { checkMatrix } from './matrix.ts';

checkMatrix('none');
checkMatrix('organization');
