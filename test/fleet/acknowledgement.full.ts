import { acknowledges } from './acknowledgement.ts';

acknowledges('SQLite');
