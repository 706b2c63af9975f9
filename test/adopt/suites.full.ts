import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { built } from '../support/built.ts';

const exec = promisify(execFile);

/** A library with tests of its own. */
interface Suite {
  readonly name: string;
  readonly version: string;
  /** Where its published package has no tests: the tag and the address of its repository. */
  readonly repository?: readonly [tag: string, url: string];
  /** Packages that its tests use, in the versions that it names itself. */
  readonly packages: readonly string[];
  /** Arguments of Node.js after which the names of the tests, of those files where it can choose, go to `results`. */
  readonly command: (results: string, files?: readonly string[]) => readonly string[];
  /** How many categories its tests make with us, at least, in the process that has most. */
  readonly categories: number;
  /** How many tests pass, at least. */
  readonly passing: number;
}

/** A minute on a quiet machine. */
const MOST_MS = 500_000;

const REPORTER = join(import.meta.dirname, 'programs/suite-reporter.mjs');

const mocha = (results: string) => [
  ...['node_modules/mocha/bin/mocha.js', '--exit', '--reporter', 'json', '--reporter-option', `output=${results}`],
];

const SUITES: readonly Suite[] = [
  {
    name: 'debug',
    version: '4.4.3',
    repository: ['4.4.3', 'https://github.com/debug-js/debug'],
    packages: ['mocha@10', 'sinon'],
    command: (results) => [...mocha(results), 'test.js', 'test.node.js'],
    categories: 5,
    passing: 16,
  },
  {
    name: 'pino',
    version: '10.4.0',
    packages: [
      ...['@matteo.collina/tspl', 'execa', 'flush-write-stream', 'import-fresh', 'pino-pretty', 'proxyquire'],
      ...['rimraf', 'split2', 'strip-ansi', 'tape'],
    ],
    command: (results, files = ['test/**/*.test.js']) => [
      ...['--test', '--test-concurrency=2', '--test-timeout=60000', `--test-reporter=${pathToFileURL(REPORTER)}`],
      ...[`--test-reporter-destination=${results}`, ...files],
    ],
    categories: 3,
    passing: 540,
  },
  {
    // The last one whose tests run in Mocha: Jest loads modules past the hooks of Node.js.
    name: 'winston',
    version: '3.18.3',
    repository: ['v3.18.3', 'https://github.com/winstonjs/winston'],
    packages: [
      ...['abstract-winston-transport', 'assume', 'cross-spawn-async', 'hock', 'mocha', 'rimraf', 'split2'],
      ...['std-mocks', 'through2', 'winston-compat'],
    ],
    command: mocha,
    categories: 3,
    passing: 197,
  },
];

/** Makes a folder with the library and its tests; `undefined` where its repository cannot be reached. */
async function obtain(t: TestContext, { name, version, repository, packages }: Suite): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-suite-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const cwd = join(folder, 'package');
  if (repository === undefined) {
    await exec('npm', ['pack', '--silent', `${name}@${version}`], { cwd: folder });
    await exec('tar', ['xzf', `${name}-${version}.tgz`], { cwd: folder });
  } else {
    const [tag, url] = repository;
    const clone = ['clone', '--quiet', '--depth', '1', '--branch', tag, url, cwd];
    try {
      await exec('git', clone, { timeout: 60_000, env: { ...process.env, GIT_TERMINAL_PROMPT: '0' } });
    } catch (error) {
      t.skip(`${url} cannot be cloned: ${String((error as { stderr?: unknown }).stderr).trim()}`);
      return undefined;
    }
  }
  const manifest = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'));
  const { devDependencies, ...others } = manifest;
  const wanted = packages.map((each) => (each.includes('@', 1) ? each : `${each}@${devDependencies[each]}`));
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ ...others, scripts: {} }));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--prefer-offline'];
  await exec('npm', ['install', ...flags, ...wanted], { cwd });
  return cwd;
}

interface Outcome {
  readonly passed: ReadonlySet<string>;
  /** Messages by test. */
  readonly failed: ReadonlyMap<string, string>;
}

function outcomeOf(results: string): Outcome {
  const text = readFileSync(results, 'utf8');
  const tests: readonly { readonly name: string; readonly error?: string }[] = text.startsWith('{\n')
    ? JSON.parse(text).tests.map(({ fullTitle, err }: { fullTitle: string; err: { message?: string } }) => ({
        name: fullTitle,
        error: err.message,
      }))
    : text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
  const failed = new Map(tests.flatMap(({ name, error }) => (error === undefined ? [] : [[name, error]])));
  const passed = new Set(tests.flatMap(({ name }) => (failed.has(name) ? [] : [name])));
  return { passed, failed };
}

/** Runs the tests, those of all files where none are given, all their processes and threads with the preloads. */
async function runTests(
  cwd: string,
  { command }: Suite,
  preloads: readonly string[],
  files?: readonly string[],
): Promise<Outcome> {
  const results = join(cwd, '..', 'results');
  const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, DEBUG: _debug, ...inherited } = process.env;
  const env = {
    ...inherited,
    NODE_OPTIONS: preloads.map((file) => `--import=${pathToFileURL(file)}`).join(' '),
    RDCP_CONFIG: join(cwd, '../rdcp.json'),
    RDCP_PORT: '0',
    OTEL_EXPORTER_PROMETHEUS_PORT: '0',
    // Skips what these suites do not ask of a shared machine: eight million lines through a file.
    CI: '1',
  };
  const options = { cwd, env, timeout: MOST_MS, maxBuffer: 2 ** 28 };
  rmSync(results, { force: true });
  // The exit code says that tests fail.
  const run = exec(process.execPath, command(results, files), options);
  const { stdout, stderr, killed } = await run.catch((error) => error);
  assert.ok(!killed, `not done after ${MOST_MS / 1000} s`);
  assert.ok(existsSync(results), `no results: ${stdout}${stderr}`.slice(-4000));
  return outcomeOf(results);
}

for (const suite of SUITES) {
  test(`the tests of ${suite.name} ${suite.version} pass as they do without us`, async (t) => {
    const cwd = await obtain(t, suite);
    if (cwd === undefined) return;
    writeFileSync(join(cwd, '../rdcp.json'), '{ "announce": false }');
    const witness = join(cwd, '../witness.mjs');
    const counts = join(cwd, '../counts');
    writeFileSync(
      witness,
      `import { appendFileSync } from 'node:fs';
      const gate = globalThis[Symbol.for('opentelemetry-instrumentation-rdcp.gate.v1')];
      process.on('exit', () => appendFileSync(${JSON.stringify(counts)}, (gate?.categories().length ?? 0) + '\\n'));`,
    );
    const preloads = [built('register.js'), witness];
    const withUs = await runTests(cwd, suite, preloads);
    t.diagnostic(`with us: ${withUs.passed.size} passed, ${withUs.failed.size} failed`);
    let broken = [...withUs.failed.keys()];
    const files = [...new Set(broken.map((name) => name.replace(/:\d+ .*$/s, '')))];
    // Some need what is not there, and some depend on the load of the machine.
    for (const again of broken.length === 0 ? [] : [[], preloads]) {
      const outcome = await runTests(cwd, suite, again, files);
      broken = broken.filter((name) => (again.length === 0 ? outcome.passed : outcome.failed).has(name));
      const failed = [...outcome.failed.keys()].join(', ');
      t.diagnostic(
        `${again.length === 0 ? 'bare' : 'again with us'}: ${outcome.passed.size} passed, failed: ${failed}`,
      );
      if (broken.length === 0) break;
    }
    assert.deepEqual(
      broken.map((name) => `${name}: ${withUs.failed.get(name)}`),
      [],
    );
    assert.ok(withUs.passed.size >= suite.passing, `only ${withUs.passed.size} pass`);
    const most = Math.max(...readFileSync(counts, 'utf8').trim().split('\n').map(Number));
    assert.ok(most >= suite.categories, `${most} categories at most`);
  });
}
