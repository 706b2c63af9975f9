import { followsARestart, whereRedisFails } from './redis-faults.ts';

whereRedisFails(2, followsARestart);
