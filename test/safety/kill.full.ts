// Every night: kills a service 220 times; the fast tier does so a few times.

import { killRounds } from './kill.ts';

killRounds(200, 'SQLite');
killRounds(20, 'PostgreSQL');
