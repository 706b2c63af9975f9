// The full tier: `*.full.ts`, a process each, and of `*.test.ts` the tests that test/support/tiers.ts marks. Options are Node's:
// `npm run test:full -- --test-name-pattern Redis`.

import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packInto } from './package/consumer.ts';
import { ROOT } from './support/built.ts';
import { runTests } from './support/run-tests.ts';

/** Files that hold something to a time or a rate: what runs beside them would be measured too. */
const MEASURING = [
  'test/cli/drill.full.ts',
  'test/console/fleet.full.ts',
  'test/console/flood.full.ts',
  'test/emit/flood.full.ts',
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
  'test/tail/flood.full.ts',
  'test/tail/processes.full.ts',
];

const files = globSync('test/**/*.full.ts', { cwd: ROOT }).sort();
for (const file of MEASURING) assert.ok(files.includes(file), `${file} is not there`);

/** Whether a test file marks tests, itself or by what it imports from its folder. */
function marks(file: string): boolean {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const beside = [...text.matchAll(/ from '\.(\/[\w-]+\.ts)'/g)].map(([, name]) => dirname(file) + name);
  return text.includes('/tiers.ts') || (!file.includes('/support/') && beside.some(marks));
}

const marked = globSync('test/**/*.test.ts', { cwd: ROOT }).filter(marks).sort();
assert.ok(marked.length > 0);
const folder = mkdtempSync(join(tmpdir(), 'rdcp-packed-'));
try {
  process.env.TEST_TARBALL = await packInto(folder);
  process.env.TEST_TIER = 'full';
  process.exitCode = runTests({
    marked,
    files: files.filter((file) => !MEASURING.includes(file)),
    alone: MEASURING,
    concurrency: 2,
    timeoutMs: 600_000,
  });
} finally {
  rmSync(folder, { recursive: true });
}
