// Loaded into every test process before its tests (`--import`, in test/support/run-tests.ts).

import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/** No test file takes half of this, also on a busy machine. */
const DEADLINE_MS = 1_200_000;

const compiled = join(import.meta.dirname, '../../node_modules/.cache/compiled');
// Half of a short test's time went into removing types and compiling. Programs that tests start use the cache too.
enableCompileCache(compiled);
process.env.NODE_COMPILE_CACHE = compiled;

if (process.env.NODE_TEST_CONTEXT !== undefined) {
  // Coverage, for which the cache is off, is of the test processes: what the programs that they start would write, some of it
  // megabytes each, takes longer to read than all tests.
  delete process.env.NODE_V8_COVERAGE;
  delete process.env.NODE_DISABLE_COMPILE_CACHE;
}

// A test has its `--test-timeout`; this is for a process that something keeps alive after its last test.
setTimeout(() => {
  console.error(`not ended after ${DEADLINE_MS / 1000} s, because of: ${process.getActiveResourcesInfo().join(', ')}`);
  process.exit(1);
}, DEADLINE_MS).unref();
