import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ROOT } from './built.ts';

/** More files than this do not fail because the machine was busy. */
const MOST_AGAIN = 4;

const PRELOAD = join(import.meta.dirname, 'preload.ts');
const FAILED_FILES = join(import.meta.dirname, 'failed-files.ts');

export interface TestRun {
  readonly files: readonly string[];
  /** Files of whose tests those alone are run that are marked by `only`, before the others. */
  readonly marked?: readonly string[];
  /** Files that measure time: one after the other, with nothing beside them, after the others. */
  readonly alone?: readonly string[];
  /** Processes at a time, for `files`. */
  readonly concurrency: number;
  readonly timeoutMs: number;
}

/**
 * Runs test files by Node's runner, with the options of the command line. Files with failures run once more, with nothing beside
 * them: what fails then is wrong, what passes then was disturbed by the others, and is named at the end.
 * @returns the exit status
 */
export function runTests({ files, marked = [], alone = [], concurrency, timeoutMs }: TestRun): number {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-failed-'));
  try {
    const list = join(folder, 'failed');
    const args = [
      ...['--import', PRELOAD, '--test', `--test-timeout=${timeoutMs}`],
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...['--test-reporter', FAILED_FILES, '--test-reporter-destination', list],
      ...process.argv.slice(2),
    ];
    // V8 counts functions that come from the cache of compiled code with less precision.
    const env = process.env.NODE_V8_COVERAGE ? { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' } : process.env;
    const run = (processes: number, names: readonly string[], only: readonly string[] = []) => {
      if (names.length === 0) return { status: 0, failed: [], only };
      const command = [...args, ...only, `--test-concurrency=${processes}`, ...names];
      const status = spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit', env }).status ?? 1;
      return { status, failed: readFileSync(list, 'utf8').split('\n').slice(0, -1), only };
    };
    const runs = [run(concurrency, marked, ['--test-only']), run(concurrency, files), run(1, alone)];
    // A run that names no file has failed in another way than by a test.
    const wrong = runs.filter(({ status }) => status !== 0);
    const failed = wrong.flatMap((each) => each.failed);
    if (wrong.length === 0) return 0;
    if (wrong.some((each) => each.failed.length === 0) || failed.length > MOST_AGAIN) return 1;
    const names = failed.map((file) => relative(ROOT, file)).join(', ');
    console.log(`\nOnce more, alone: ${names}\n`);
    const again = Math.max(...wrong.map((each) => run(1, each.failed, each.only).status));
    if (again === 0) console.log(`\nFailed the first time, and passed alone: ${names}`);
    return again;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
