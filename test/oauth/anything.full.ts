import { answersAnything } from './anything.ts';

answersAnything(800);
