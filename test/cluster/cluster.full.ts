import { describe } from 'node:test';
import { actAsOne } from './cluster.ts';

describe('node:cluster with the default store', { concurrency: 2 }, () => {
  actAsOne({
    changes: ['register in workers', 'all', 'workers'],
    lines: ['register', 'workers'],
    scrapes: ['register in workers'],
  });
});
