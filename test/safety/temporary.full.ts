import { describe } from 'node:test';
import { endsThoughClockJumps } from './temporary.ts';

describe('a temporary control of a real process never outlives its time', { concurrency: 4 }, () => {
  endsThoughClockJumps(['a year back', 'an hour forward']);
});
