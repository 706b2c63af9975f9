// Every night: 1,050 requests of each kind, of which each change makes a share (anything.test.ts).

import { answersAnything } from './anything.ts';

answersAnything(1050);
