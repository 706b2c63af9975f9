// The fast tier: `*.test.ts`. What a test file needs before its first test, the package and its libraries, takes longer than
// most of its tests, so files of one folder share a process. A file that changes its process, or measures it, has its own, and
// says so in its first line. Options are Node's: `npm run test:fast -- --test-name-pattern limit`.

import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './support/built.ts';
import { runTests } from './support/run-tests.ts';

/** Tests of one process run one after the other. */
const MOST_TOGETHER = 24;
/** Folders whose tests run the package in their own process. Those of the others are about processes that they start. */
const SHARING =
  /^test\/(?:audit|auth|cli|client|conformance|console|control|emit|gate|metrics|notify|oauth|protocol|server|store|tail|tenancy)\//;
/** Files of other folders that only call functions. */
const FUNCTIONS_ALONE =
  /^test\/(?:adopt\/fields|cli\/forecast-table|cluster\/(?:board|calls|folder)|conformance\/pacing|fleet\/(?:instance|roster)|package\/(?:compatibility|install-scripts)|pictures\/terminal|register\/(?:exposition|pm2)|release\/release|conditions|config|environment|json-fault|printable|reporter)\.test\.ts$/;
const OWN_PROCESS = /^\/\/ In a process of its own: /;

const files = globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
const shares = (file: string) =>
  FUNCTIONS_ALONE.test(file) || (SHARING.test(file) && !OWN_PROCESS.test(readFileSync(join(ROOT, file), 'utf8')));
const groupOf = (file: string) => (FUNCTIONS_ALONE.test(file) ? 'functions' : dirname(file));

const folder = mkdtempSync(join(tmpdir(), 'rdcp-tests-'));
try {
  const together = Map.groupBy(files.filter(shares), groupOf);
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
  process.exitCode = runTests({ files: [...groups, ...alone], concurrency: 4, timeoutMs: 120_000 });
} finally {
  rmSync(folder, { recursive: true });
}
