// Measures, so nothing runs beside it: how fast a fleet acknowledges.

import { acknowledges } from './acknowledgement.ts';

acknowledges('SQLite');
