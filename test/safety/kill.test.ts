import { killRounds } from './kill.ts';

killRounds(1, 'SQLite');
killRounds(1, 'PostgreSQL');
