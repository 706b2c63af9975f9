import { answersAnything } from './anything.ts';

answersAnything(2500);
