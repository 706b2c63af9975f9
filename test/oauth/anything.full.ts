import { answersAnything } from './anything.ts';

answersAnything(1050);
