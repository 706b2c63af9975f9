import { killRounds } from './kill.ts';

killRounds(1);
