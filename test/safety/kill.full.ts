import { killRounds } from './kill.ts';

killRounds(200, 'SQLite');
killRounds(20, 'PostgreSQL');
