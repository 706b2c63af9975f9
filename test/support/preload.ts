// Loaded into every test process before its tests (`--import`, in package.json).

import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/** No test file takes a tenth of this. */
const DEADLINE_MS = 600_000;

// Half of a short test's time went into removing types and compiling. Programs that tests start use the cache too.
if (process.env.NODE_V8_COVERAGE === undefined) {
  const directory = join(import.meta.dirname, '../../node_modules/.cache/compiled');
  enableCompileCache(directory);
  process.env.NODE_COMPILE_CACHE = directory;
} else {
  // Coverage counts functions that come from a cache with less precision. It is of the test processes: what the programs that
  // they start would write, some of it megabytes each, takes longer to read than all tests.
  delete process.env.NODE_V8_COVERAGE;
}

// A test has its `--test-timeout`; this is for a process that something keeps alive after its last test.
setTimeout(() => {
  console.error(`not ended after ${DEADLINE_MS / 1000} s, because of: ${process.getActiveResourcesInfo().join(', ')}`);
  process.exit(1);
}, DEADLINE_MS).unref();
