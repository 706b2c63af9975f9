// Every night: kills a service 220 times; the fast tier does so once.

import { killRounds } from './kill.ts';

killRounds(200, 'SQLite');
killRounds(20, 'PostgreSQL');
