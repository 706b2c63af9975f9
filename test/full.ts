// The full tier: `*.full.ts`, a process each. Options are Node's: `npm run test:full -- --test-name-pattern Redis`.

import { globSync } from 'node:fs';
import { ROOT } from './support/built.ts';
import { runTests } from './support/run-tests.ts';

const files = globSync('test/**/*.full.ts', { cwd: ROOT }).sort();
process.exitCode = runTests({ files, concurrency: 2, timeoutMs: 600_000 });
