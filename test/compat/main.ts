// Runs the tests of other libraries without this package and with it, and compares. Fetches nothing: `npm run compat` runs the
// tests that npm packages bring along, `RDCP_COMPAT_FOLDER=/a/folder npm run compat -- koa` those of /a/folder/koa.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { built, ROOT } from '../support/built.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { argumentsOf, filesOf, SUITES, type Suite } from './suites.ts';

/** Of one run. The slowest, undici, takes five to ten minutes on two cores that are shared. */
const MOST_MINUTES = 20;

const { RDCP_COMPAT_FOLDER } = process.env;
const work = mkdtempSync(join(tmpdir(), 'rdcp-compat-'));

/** Why the tests of a library cannot be run. */
class NotRun extends Error {}

/** A folder with the library and its tests. */
function folderOf(library: string, suite: Suite): string {
  if (RDCP_COMPAT_FOLDER !== undefined) {
    const folder = resolve(RDCP_COMPAT_FOLDER, library);
    if (!existsSync(folder)) throw new NotRun(`RDCP_COMPAT_FOLDER has no folder ${library}`);
    if (filesOf(suite, folder).length === 0) throw new NotRun(`${folder} has no ${suite.files.join(', ')}`);
    const needed = suite.runner === 'mocha' ? 'node_modules/.bin/mocha' : 'node_modules';
    if (!existsSync(join(folder, needed))) throw new NotRun(`${folder} has no ${needed}`);
    return folder;
  }
  const installed = join(ROOT, 'node_modules', library);
  if (filesOf(suite, installed).length === 0) throw new NotRun('its npm package has no tests: set RDCP_COMPAT_FOLDER');
  if (suite.runner === 'mocha') throw new NotRun('Mocha is not installed here: set RDCP_COMPAT_FOLDER');
  // A copy, because tests write into their folder.
  const copy = join(work, library);
  cpSync(installed, copy, { recursive: true });
  return copy;
}

interface Outcome {
  readonly passed: ReadonlySet<string>;
  /** Messages by test. */
  readonly failed: ReadonlyMap<string, string>;
  /** Categories that its libraries have, in the process that has most. */
  readonly categories: number;
  /** How the run ended, where its exit code was not 0. */
  readonly ended: string | undefined;
}

interface Run {
  readonly suite: Suite;
  readonly cwd: string;
  readonly files: readonly string[];
  readonly withUs: boolean;
}

/** Runs the tests, each of their processes and threads with or without the package. */
async function run({ suite, cwd, withUs, files }: Run): Promise<Outcome> {
  const results = join(work, 'results');
  const categories = join(work, 'categories');
  rmSync(results, { force: true });
  writeFileSync(categories, '');
  const preloads = [...(withUs ? [built('register.js')] : []), join(import.meta.dirname, 'witness.mjs')];
  const child = spawn(process.execPath, argumentsOf(suite, files, results), {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...PROGRAM_ENV,
      // Some tests start `node`. Compiled code of the run before keeps the start of each process short.
      PATH: dirname(process.execPath) + delimiter + process.env.PATH,
      NODE_COMPILE_CACHE: join(work, 'compiled'),
      NODE_OPTIONS: preloads.map((file) => `--import=${pathToFileURL(file)}`).join(' '),
      COMPAT_CATEGORIES: categories,
      COMPAT_RESULTS: results,
      RDCP_CONFIG: join(work, 'rdcp.json'),
      RDCP_PORT: '0',
      // With a credential no key is written into the library's folder.
      RDCP_SERVER_API_KEY: randomUUID(),
      OTEL_EXPORTER_PROMETHEUS_PORT: '0',
      // Skips what these suites do not ask of a shared machine: eight million lines through a file.
      CI: '1',
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-2000);
    });
  }
  /** Ends the run with all processes that its tests have started. */
  const stop = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // None is left.
    }
  };
  const interrupted = () => {
    stop();
    process.exit(130);
  };
  process.once('SIGINT', interrupted);
  const limit = setTimeout(stop, MOST_MINUTES * 60_000);
  const [code, signal] = await once(child, 'exit');
  clearTimeout(limit);
  process.off('SIGINT', interrupted);
  stop();
  return {
    ...read(existsSync(results) ? readFileSync(results, 'utf8') : ''),
    categories: Math.max(0, ...readFileSync(categories, 'utf8').split('\n').map(Number)),
    ended: code === 0 ? undefined : `${signal ?? `exit code ${code}`} (${MOST_MINUTES} minutes are allowed): ${output}`,
  };
}

/** What the reporters wrote. */
function read(text: string): Pick<Outcome, 'passed' | 'failed'> {
  const tests: readonly { readonly file: string; readonly name: string; readonly error?: string }[] = text
    .split('\n')
    // Ends with a line feed, or with half a line of a run that was killed.
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  const keys = tests.map(({ file, name }) => `${file}: ${name}`);
  const failed = new Map(
    tests.flatMap(({ error }, index) => (error === undefined ? [] : [[keys[index]!, error] as const])),
  );
  return { failed, passed: new Set(keys.filter((key) => !failed.has(key))) };
}

/** Also of tests that passed: with `--test-force-exit`, Node.js loses what a process has not written yet, with and without the package. */
const NOT_REPORTED = 'no result';

/** Stands beside the tests in {@link broken}: `file: name`. */
const THE_RUN = 'every file: the run ends with code 0';

/** Tests that fail with the package and not without it, or that only ran without it, with their messages. */
function broken(without: Outcome, withUs: Outcome): ReadonlyMap<string, string> {
  const failed = [...withUs.failed].filter(([key]) => !without.failed.has(key));
  const missing = [...without.passed].filter((key) => !withUs.passed.has(key) && !withUs.failed.has(key));
  const tests = new Map([...failed, ...missing.map((key) => [key, NOT_REPORTED] as const)]);
  const endsWorse = without.ended === undefined && withUs.ended !== undefined;
  return endsWorse && failed.length === 0 ? tests.set(THE_RUN, withUs.ended!) : tests;
}

interface Row {
  readonly library: string;
  readonly version: string;
  readonly without: Outcome;
  readonly withUs: Outcome;
  readonly broken: ReadonlyMap<string, string>;
  /** Failed with the package, or had no result, but not in each of three comparisons. */
  readonly unstable: ReadonlyMap<string, string>;
}

async function compare(library: string, suite: Suite): Promise<Row> {
  const cwd = folderOf(library, suite);
  const { version } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'));
  const both = async (files: readonly string[]) => {
    const without = await run({ suite, cwd, files, withUs: false });
    const withUs = await run({ suite, cwd, files, withUs: true });
    return { without, withUs, broken: broken(without, withUs) };
  };
  const first = await both(filesOf(suite, cwd));
  if (first.without.passed.size === 0)
    throw new NotRun(`no test passes: ${[...first.without.failed.values(), first.without.ended][0]}`);
  let always = first.broken;
  // Some tests depend on the load of the machine.
  for (let again = 0; again < 2 && always.size > 0; again++) {
    const files = new Set([...always.keys()].map((key) => key.slice(0, key.indexOf(': '))));
    const next = await both(always.has(THE_RUN) ? filesOf(suite, cwd) : [...files]);
    always = new Map([...always].filter(([key]) => next.broken.has(key)));
  }
  const unstable = new Map([...first.broken].filter(([key]) => !always.has(key)));
  return { library, version, ...first, broken: always, unstable };
}

function print(rows: readonly (readonly unknown[])[]): void {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  for (const row of rows) {
    const cells = row.map((cell, column) => String(cell).padEnd(widths[column]!));
    console.log(cells.join('  ').trimEnd());
  }
}

const named = process.argv.slice(2);
const unknown = named.find((library) => !Object.hasOwn(SUITES, library));
assert.equal(unknown, undefined, `${unknown}: one of ${Object.keys(SUITES).join(', ')}`);
writeFileSync(join(work, 'rdcp.json'), '{ "announce": false }');
symlinkSync(join(ROOT, 'node_modules'), join(work, 'node_modules'));
const rows: Row[] = [];
const notRun: string[] = [];
try {
  for (const library of named.length > 0 ? named : Object.keys(SUITES)) {
    try {
      rows.push(await compare(library, SUITES[library]!));
    } catch (error) {
      if (!(error instanceof NotRun)) throw error;
      notRun.push(`${library}: ${error.message}`);
    }
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
print([
  ['library', 'version', 'without: passed', 'failed', 'with: passed', 'failed', 'categories', 'failed only with'],
  ...rows.map(({ library, version, without, withUs, broken }) => [
    ...[library, version, without.passed.size, without.failed.size],
    ...[withUs.passed.size, withUs.failed.size, withUs.categories, broken.size],
  ]),
]);
for (const { library, broken, unstable, withUs } of rows) {
  for (const [key, message] of broken) console.log(`FAILED only with: ${library}: ${key}: ${message}`);
  const lost = [...unstable.values()].filter((message) => message === NOT_REPORTED).length;
  if (lost > 0) console.log(`without a result, but not each time: ${library}: ${lost} tests`);
  for (const [key, message] of unstable) {
    if (message !== NOT_REPORTED) console.log(`failed with, but not each time: ${library}: ${key}`);
  }
  if (withUs.categories === 0) console.log(`FAILED: ${library} has no category, so nothing was tried`);
}
for (const reason of notRun) console.log(`NOT RUN: ${reason}`);
const failed = rows.some(({ broken, withUs }) => broken.size > 0 || withUs.categories === 0);
process.exitCode = failed || rows.length === 0 || (named.length > 0 && notRun.length > 0) ? 1 : 0;
