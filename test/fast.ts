// The fast tier: `*.test.ts`. What a test file needs before its first test, the package and its libraries, takes longer than
// most of its tests, so files of one folder share a process, except those that start programs, which mostly wait for them. A
// file that changes its process, or measures it, has a process of its own, and says so in its first line.
// `npm run test:fast -- --test-name-pattern limit` runs the tests with such names.

import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './support/built.ts';
import { MEASURES, runTests } from './support/run-tests.ts';

/** Tests of one process run one after the other. */
const MOST_TOGETHER = 24;
const OWN_PROCESS = /^\/\/ In a process of its own: /;
const STARTS_PROGRAMS = /\bfrom 'node:(?:child_process|cluster|worker_threads)'/;

const known = new Map<string, boolean>();

/** Whether a file of the tests starts programs or threads, itself or by what it imports from the tests. */
function startsPrograms(file: string): boolean {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false);
  const text = readFileSync(join(ROOT, file), 'utf8');
  const imported = [...text.matchAll(/\bfrom '(\.[^']+)'/g)].map(([, path = '']) =>
    normalize(join(dirname(file), path)),
  );
  const starts =
    STARTS_PROGRAMS.test(text) || imported.some((path) => path.startsWith('test/') && startsPrograms(path));
  known.set(file, starts);
  return starts;
}

const shares = (file: string) => !OWN_PROCESS.test(readFileSync(join(ROOT, file), 'utf8')) && !startsPrograms(file);

const files = globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
const measuring = files.filter((file) => MEASURES.test(readFileSync(join(ROOT, file), 'utf8')));
assert.deepEqual(measuring, [], 'a file that measures belongs to the full tier, where it runs alone');
const folder = mkdtempSync(join(tmpdir(), 'rdcp-tests-'));
try {
  const together = Map.groupBy(files.filter(shares), dirname);
  const groups = [...together].flatMap(([name, members]) => {
    const count = Math.ceil(members.length / MOST_TOGETHER);
    return Array.from({ length: count }, (_, at) => {
      const group = join(folder, `${name.replaceAll('/', '-')}-${at + 1}.test.mjs`);
      const imported = members.filter((_member, index) => index % count === at);
      writeFileSync(group, imported.map((file) => `import '${pathToFileURL(join(ROOT, file))}';\n`).join(''));
      return group;
    });
  });
  const alone = files.filter((file) => !shares(file));
  const passed = await runTests({ files: [...groups, ...alone], concurrency: 4, timeoutMs: 120_000 });
  process.exitCode = passed ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
