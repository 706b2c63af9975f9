// The full tier: `*.full.ts`, a process each. Options are Node's: `npm run test:full -- --test-name-pattern Redis`.

import assert from 'node:assert/strict';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packInto } from './package/consumer.ts';
import { ROOT } from './support/built.ts';
import { runTests } from './support/run-tests.ts';

/** Files that hold something to a time or a rate: what runs beside them would be measured too. */
const MEASURING = [
  'test/cli/drill.full.ts',
  'test/console/fleet.full.ts',
  'test/console/flood.full.ts',
  'test/examples/fleet.full.ts',
  'test/fleet/acknowledgement.full.ts',
  'test/fleet/failover.full.ts',
  'test/fleet/redis-faults.full.ts',
  'test/package/budget.full.ts',
  'test/package/flood.full.ts',
  'test/safety/exit.full.ts',
  'test/safety/store-faults.full.ts',
  'test/store/redis-cluster.full.ts',
  'test/store/redis-sentinel.full.ts',
  'test/tail/fleet.full.ts',
];

const files = globSync('test/**/*.full.ts', { cwd: ROOT }).sort();
for (const file of MEASURING) assert.ok(files.includes(file), `${file} is not there`);
const folder = mkdtempSync(join(tmpdir(), 'rdcp-packed-'));
try {
  process.env.RDCP_TARBALL = await packInto(folder);
  process.exitCode = runTests({
    files: files.filter((file) => !MEASURING.includes(file)),
    alone: MEASURING,
    concurrency: 2,
    timeoutMs: 600_000,
  });
} finally {
  rmSync(folder, { recursive: true });
}
