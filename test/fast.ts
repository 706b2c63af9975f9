// The fast tier: `*.test.ts`. What a test file needs before its first test, the package and its libraries, takes longer than
// most of its tests, so files of one folder share a process, except those that start programs, which mostly wait for them. A
// file that changes its process, or measures it, has a process of its own, and says so in its first line.
// `npm run test:fast -- --test-name-pattern limit` runs the tests with such names.

import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from './support/built.ts';
import { MEASURES, runTests } from './support/run-tests.ts';
import { groupsOf, importing } from './support/sharing.ts';

/** Tests of one process run one after the other. */
const MOST_TOGETHER = 24;

const files = globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
const measuring = files.filter((file) => MEASURES.test(readFileSync(join(ROOT, file), 'utf8')));
assert.deepEqual(measuring, [], 'a file that measures belongs to the full tier, where it runs alone');
const folder = mkdtempSync(join(tmpdir(), 'rdcp-tests-'));
try {
  const groups = groupsOf(files, MOST_TOGETHER).map((members, index) => {
    if (members.length === 1) return members[0]!;
    const group = join(folder, `${dirname(members[0]!).replaceAll('/', '-')}-${index + 1}.test.mjs`);
    writeFileSync(group, importing(members));
    return group;
  });
  const passed = await runTests({ files: groups, concurrency: 4, timeoutMs: 120_000 });
  process.exitCode = passed ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
