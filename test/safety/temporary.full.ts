import { describe } from 'node:test';
import { endsThoughClockJumps, goesOnAfter } from './temporary.ts';

describe('a temporary control of a real process never outlives its time', { concurrency: 4 }, () => {
  goesOnAfter('SIGTERM');
  endsThoughClockJumps(['a year back', 'an hour forward', 'a year forward']);
});
