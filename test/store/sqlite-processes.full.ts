import { killedWriters } from './sqlite-children.ts';

killedWriters(200);
