// The full tier: `*.full.ts`, a process each, and of `*.test.ts` the tests that test/support/tiers.ts marks. A file that holds
// something to a time or a rate says so in its first line, and runs when nothing else does. `--each-change` leaves these out, and those
// that say that they run every night.
// `npm run test:full -- --test-name-pattern Redis` runs the tests with such names.

import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packInto } from './package/consumer.ts';
import { MEASURING } from './support/at-most.ts';
import { ROOT } from './support/built.ts';
import { commandLine, MEASURES, NIGHTLY, runTests, type TestRun } from './support/run-tests.ts';

const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** Whether a test file marks tests, itself or by what it imports from its folder. */
function marks(file: string): boolean {
  const text = textOf(file);
  const beside = [...text.matchAll(/ from '\.(\/[\w-]+\.ts)'/g)].map(([, name]) => dirname(file) + name);
  return text.includes('/tiers.ts') || (!file.includes('/support/') && beside.some(marks));
}

const files = globSync('test/**/*.full.ts', { cwd: ROOT }).sort();
const isEachChange = commandLine['each-change'];
const leftOut = (file: string) => isEachChange && NIGHTLY.test(textOf(file));
const measuring = files.filter((file) => MEASURES.test(textOf(file)));
const marked = globSync('test/**/*.test.ts', { cwd: ROOT }).filter(marks).sort();
assert.ok(marked.length > 0 && measuring.length > 0);

/** Tests that measure nothing mostly wait for what they have started: two of them leave a core of two idle. */
const TOGETHER = 3;
const runs: readonly Pick<TestRun, 'files' | 'only' | 'concurrency'>[] = [
  { files: marked, only: true, concurrency: TOGETHER },
  { files: files.filter((file) => !measuring.includes(file) && !leftOut(file)), concurrency: TOGETHER },
  ...(isEachChange ? [] : [{ files: measuring, concurrency: 1 }]),
];
const folder = mkdtempSync(join(tmpdir(), 'rdcp-packed-'));
try {
  process.env.TEST_TARBALL = await packInto(folder);
  process.env.TEST_TIER = 'full';
  let passed = true;
  for (const each of runs) {
    if (!passed && process.env.CI) break;
    process.env[MEASURING] = String(each.files === measuring);
    passed = (await runTests({ ...each, timeoutMs: 1_200_000 })) && passed;
  }
  process.exitCode = passed ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
