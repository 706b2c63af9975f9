import { join } from 'node:path';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { ROOT } from './built.ts';

const PRELOAD = join(import.meta.dirname, 'preload.ts');

/** What the runners of the tiers are asked for. */
export const { values: commandLine } = parseArgs({
  options: {
    'test-name-pattern': { type: 'string', multiple: true },
    'each-change': { type: 'boolean', default: false },
  },
});

/** How a test file begins that holds something to a time or a rate. */
export const MEASURES = /^\/\/ Measures, so nothing runs beside it: /;
/** How a test file begins that is too long for each change, and about something that a change rarely touches. */
export const NIGHTLY = /^\/\/ Every night: /;

export interface TestRun {
  readonly files: readonly string[];
  /** Runs only the tests that are marked by `only`. */
  readonly only?: boolean;
  /** Processes at a time. */
  readonly concurrency: number;
  /** For each test. */
  readonly timeoutMs: number;
}

/**
 * Runs test files by Node's runner, each in a process, and prints what they report. With `CI` set, the first failed test ends
 * the run. `--test-name-pattern` of the command line chooses tests.
 * @returns whether every test passed
 */
export async function runTests({ files, only = false, concurrency, timeoutMs }: TestRun): Promise<boolean> {
  const testNamePatterns = commandLine['test-name-pattern'];
  // V8 counts functions that come from the cache of compiled code with less precision.
  if (process.env.NODE_V8_COVERAGE) process.env.NODE_DISABLE_COMPILE_CACHE = '1';
  const firstFailure = new AbortController();
  let passed = true;
  const events = run({
    files: [...files],
    only,
    concurrency,
    cwd: ROOT,
    signal: firstFailure.signal,
    execArgv: ['--import', PRELOAD, `--test-timeout=${timeoutMs}`],
    ...(testNamePatterns !== undefined && { testNamePatterns }),
  });
  events.on('test:fail', ({ todo }) => {
    if (todo !== undefined) return;
    passed = false;
    if (process.env.CI) firstFailure.abort();
  });
  for await (const text of events.filter(isOfTheRun).compose(spec)) process.stdout.write(text);
  return passed;
}

/** Files that the first failure has kept from running say nothing. */
function isOfTheRun({ type, data }: TestEvent): boolean {
  if (type !== 'test:fail') return true;
  const { error } = data.details;
  return !('failureType' in error && error.failureType === 'testAborted');
}
