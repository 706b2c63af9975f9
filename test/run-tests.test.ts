import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const RUNNER = pathToFileURL(join(import.meta.dirname, 'support/run-tests.ts')).href;

const WRONG = `import { test } from 'node:test'; test('is wrong', () => { throw new Error('wrong'); });`;
const RIGHT = `import { test } from 'node:test'; test('is right', () => {});`;
/** Fails the first time only, as a test does whose machine was busy. */
const disturbed = (mark: string) => `
  import { existsSync, writeFileSync } from 'node:fs'; import { test } from 'node:test';
  const again = existsSync('${mark}'); writeFileSync('${mark}', '');
  test('was disturbed', () => { if (!again) throw new Error('disturbed'); });`;

function run(t: TestContext, tests: (folder: string) => readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-runner-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = tests(folder).map((source, index) => {
    const file = join(folder, `test-${index}.mjs`);
    writeFileSync(file, source);
    return file;
  });
  const program = `import { runTests } from '${RUNNER}';
    process.exitCode = runTests({ files: ${JSON.stringify(files)}, concurrency: 2, timeoutMs: 5000 });`;
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_V8_COVERAGE: undefined };
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    encoding: 'utf8',
    env,
  });
  return { status, stdout };
}

test('a test that fails beside others and passes alone passes, and is named', (t) => {
  const { status, stdout } = run(t, (folder) => [RIGHT, disturbed(join(folder, 'mark'))]);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /passed alone: .*test-1\.mjs\n/);
  assert.equal(stdout.match(/is right/g)?.length, 1, 'what passed runs once');
});

test('a test that fails alone too fails the run', (t) => {
  const { status, stdout } = run(t, () => [RIGHT, WRONG]);
  assert.equal(status, 1, stdout);
  assert.doesNotMatch(stdout, /passed alone/);
});

test('many failures are not put down to the machine', (t) => {
  const { status, stdout } = run(t, (folder) => Array.from({ length: 5 }, (_, at) => disturbed(join(folder, `${at}`))));
  assert.equal(status, 1, stdout);
  assert.doesNotMatch(stdout, /Once more/);
});
