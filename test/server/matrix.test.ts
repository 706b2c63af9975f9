import { checkMatrix } from './matrix.ts';

checkMatrix('organization', 'brief');
