import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { newFolder } from './support/folder.ts';
import { inFull } from './support/tiers.ts';

const RUNNER = pathToFileURL(join(import.meta.dirname, 'support/run-tests.ts')).href;

const IMPORT = "import { test } from 'node:test'; ";
const WRONG = `${IMPORT} test('is wrong', () => { throw new Error('wrong'); });`;
const RIGHT = `${IMPORT} test('is right', () => {});`;
const KILLED = `${IMPORT} test('ends', () => process.kill(process.pid, 'SIGKILL'));`;
/** Passes the second time only. */
const passingLater = (mark: string) => `${IMPORT}
  import { existsSync, writeFileSync } from 'node:fs';
  const again = existsSync('${mark}'); writeFileSync('${mark}', '');
  test('passes later', () => { if (!again) throw new Error('not yet'); });`;

/** Runs files with these sources one after the other. */
function run(t: TestContext, sources: (folder: string) => readonly string[], variables: NodeJS.ProcessEnv = {}) {
  const folder = newFolder(t);
  const files = sources(folder).map((source, index) => {
    const file = join(folder, `test-${index}.mjs`);
    writeFileSync(file, source);
    return file;
  });
  const program = `import { runTests } from '${RUNNER}';
    const passed = await runTests({ files: ${JSON.stringify(files)}, concurrency: 1, timeoutMs: 60_000 });
    process.exitCode = passed ? 0 : 1;`;
  // From a file: Node.js hands options of its own command line on to the processes of the tests.
  writeFileSync(join(folder, 'runner.mjs'), program);
  const { status, stdout } = spawnSync(process.execPath, [join(folder, 'runner.mjs')], {
    encoding: 'utf8',
    env: { ...process.env, CI: undefined, NODE_TEST_CONTEXT: undefined, NODE_V8_COVERAGE: undefined, ...variables },
  });
  return { status, stdout };
}

test('a failed test fails the run, and the other files run all the same', (t) => {
  const { status, stdout } = run(t, () => [WRONG, RIGHT]);
  assert.equal(status, 1, stdout);
  assert.match(stdout, /✖ is wrong/);
  assert.match(stdout, /✔ is right/);
});

test('a failed test is not run again', (t) => {
  const { status, stdout } = run(t, (folder) => [RIGHT, passingLater(join(folder, 'mark'))]);
  assert.equal(status, 1, stdout);
});

test('with CI set the first failed test ends the run', (t) => {
  const { status, stdout } = run(t, () => [WRONG, RIGHT], { CI: 'true' });
  assert.equal(status, 1, stdout);
  assert.match(stdout, /✖ is wrong/);
  assert.doesNotMatch(stdout, /is right|test-1/);
});

test('a run without a failure passes', (t) => {
  const { status, stdout } = run(t, () => [RIGHT, RIGHT], { CI: 'true' });
  assert.equal(status, 0, stdout);
});

inFull('a process that is killed fails the run', (t) => {
  const { status, stdout } = run(t, () => [RIGHT, KILLED]);
  assert.equal(status, 1, stdout);
});
