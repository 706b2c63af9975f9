import { answersAnything } from './anything.ts';

answersAnything(3000);
