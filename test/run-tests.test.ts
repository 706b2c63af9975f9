import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inFull } from './support/tiers.ts';

const RUNNER = pathToFileURL(join(import.meta.dirname, 'support/run-tests.ts')).href;

const IMPORT = "import { test } from 'node:test'; ";
const WRONG_TEST = "test('is wrong', () => { throw new Error('wrong'); });";
const WRONG = IMPORT + WRONG_TEST;
const RIGHT = `import { test } from 'node:test'; test('is right', () => {});`;
/** Fails the first time only, as a test does whose machine was busy. */
const disturbed = (mark: string) => `
  import { existsSync, writeFileSync } from 'node:fs'; import { test } from 'node:test';
  const again = existsSync('${mark}'); writeFileSync('${mark}', '');
  test('was disturbed', () => { if (!again) throw new Error('disturbed'); });`;

/** Notes when it runs, by the clock of the machine. */
const timed = (notes: string, name: string) => `
  import { appendFileSync } from 'node:fs'; import { test } from 'node:test';
  test('takes a while', async () => {
    const from = Date.now();
    await new Promise((done) => setTimeout(done, 100));
    appendFileSync('${notes}', JSON.stringify({ name: '${name}', from, to: Date.now() }) + '\\n');
  });`;

interface Note {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** @param alone how many of the files, the last ones, run alone */
function run(t: TestContext, tests: (folder: string) => readonly string[], alone = 0) {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-runner-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = tests(folder).map((source, index) => {
    const file = join(folder, `test-${index}.mjs`);
    writeFileSync(file, source);
    return file;
  });
  const program = `import { runTests } from '${RUNNER}';
    const files = ${JSON.stringify(files)};
    const alone = files.splice(files.length - ${alone});
    process.exitCode = runTests({ files, alone, concurrency: 2, timeoutMs: 60_000 });`;
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_V8_COVERAGE: undefined };
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    encoding: 'utf8',
    env,
  });
  return { status, stdout };
}

test('a test that fails beside others and passes alone passes, and is named', (t) => {
  const { status, stdout } = run(t, (folder) => [RIGHT, disturbed(join(folder, 'mark')), RIGHT], 1);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /passed alone: .*test-1\.mjs\n/);
  assert.equal(stdout.match(/is right/g)?.length, 2, 'what passed runs once');
});

test('a test that fails alone too fails the run', (t) => {
  const { status, stdout } = run(t, () => [WRONG, RIGHT, WRONG], 1);
  assert.equal(status, 1, stdout);
  assert.match(stdout, /Once more, alone: .*test-0\.mjs, .*test-2\.mjs\n/);
  assert.doesNotMatch(stdout, /passed alone/);
});

inFull('a test that a shared function declares fails again by the file that calls it', (t) => {
  const { status, stdout } = run(t, (folder) => {
    writeFileSync(join(folder, 'shared.mjs'), `${IMPORT} export const declare = () => { ${WRONG_TEST} };`);
    return [RIGHT, "import { declare } from './shared.mjs'; declare();"];
  });
  assert.equal(status, 1, stdout);
  assert.match(stdout, /Once more, alone: .*test-1\.mjs\n/);
});

inFull('a process that is killed fails each time', (t) => {
  const killed = `import { test } from 'node:test'; test('ends', () => process.kill(process.pid, 'SIGKILL'));`;
  const { status, stdout } = run(t, () => [RIGHT, killed, WRONG]);
  assert.equal(status, 1, stdout);
  assert.match(stdout, /Once more, alone: .*test-1\.mjs, .*test-2\.mjs\n/);
});

inFull('files that measure time run one after the other, when no other runs any more', (t) => {
  let notes = '';
  const { status, stdout } = run(
    t,
    (folder) => {
      notes = join(folder, 'notes');
      return ['beside', 'beside', 'alone', 'alone'].map((name) => timed(notes, name));
    },
    2,
  );
  assert.equal(status, 0, stdout);
  const ran: Note[] = readFileSync(notes, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    ran.map(({ name }) => name),
    ['beside', 'beside', 'alone', 'alone'],
  );
  const [, , third, fourth] = ran as [Note, Note, Note, Note];
  for (const { to } of ran.slice(0, 2)) assert.ok(to <= third.from);
  assert.ok(third.to <= fourth.from);
});

inFull('many failures are not put down to the machine', (t) => {
  const { status, stdout } = run(t, (folder) => Array.from({ length: 5 }, (_, at) => disturbed(join(folder, `${at}`))));
  assert.equal(status, 1, stdout);
  assert.doesNotMatch(stdout, /Once more/);
});
