import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { ROOT } from './built.ts';

/** More files than this do not fail because the machine was busy. */
const MOST_AGAIN = 4;

const PRELOAD = join(import.meta.dirname, 'preload.ts');
const FAILED_FILES = join(import.meta.dirname, 'failed-files.ts');

export interface TestRun {
  readonly files: readonly string[];
  /** Files that measure time: one after the other, with nothing beside them, after the others. */
  readonly alone?: readonly string[];
  /** Processes at a time, for `files`. */
  readonly concurrency: number;
  readonly timeoutMs: number;
}

interface Run {
  readonly status: number;
  /** Where the tests that failed are written. */
  readonly written: readonly string[];
  /** The files among those that ran whose processes have failed. */
  readonly failed: readonly string[];
}

/**
 * Runs test files by Node's runner, with the options of the command line. Files with failures run once more, with nothing beside
 * them: what fails then is wrong, what passes then was disturbed by the others, and is named at the end.
 * @returns the exit status
 */
export function runTests({ files, alone = [], concurrency, timeoutMs }: TestRun): number {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-failed-'));
  try {
    const list = join(folder, 'failed');
    const entries = join(folder, 'entries');
    const args = [
      ...['--import', PRELOAD, '--test', `--test-timeout=${timeoutMs}`],
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...['--test-reporter', FAILED_FILES, '--test-reporter-destination', list],
      ...process.argv.slice(2),
    ];
    // V8 counts functions that come from the cache of compiled code with less precision.
    const uncached = process.env.NODE_V8_COVERAGE ? { NODE_DISABLE_COMPILE_CACHE: '1' } : {};
    const env = { ...process.env, ...uncached, FAILED_ENTRIES: entries };
    const run = (processes: number, names: readonly string[]): Run => {
      if (names.length === 0) return { status: 0, written: [], failed: [] };
      writeFileSync(entries, '');
      const command = [...args, `--test-concurrency=${processes}`, ...names];
      const status = spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit', env }).status ?? 1;
      const written = linesOf(list);
      // A process that was killed has noted nothing; the runner then names the file that it ran.
      const noted = new Set([...linesOf(entries), ...written]);
      return { status, written, failed: names.filter((name) => noted.has(resolve(ROOT, name))) };
    };
    const wrong = [run(concurrency, files), run(1, alone)].filter(({ status }) => status !== 0);
    if (wrong.length === 0) return 0;
    // A run that names no file has failed in another way than by a test.
    if (wrong.some(({ failed }) => failed.length === 0)) return 1;
    const failed = wrong.flatMap((each) => each.failed);
    if (new Set(wrong.flatMap(({ written }) => written)).size > MOST_AGAIN || failed.length > MOST_AGAIN) return 1;
    const names = failed.map(shortened).join(', ');
    console.log(`\nOnce more, alone: ${names}\n`);
    const again = run(1, failed).status;
    if (again === 0) console.log(`\nFailed the first time, and passed alone: ${names}`);
    return again;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1);
}

/** Groups of the fast tier lie elsewhere. */
function shortened(file: string): string {
  const path = relative(ROOT, resolve(ROOT, file));
  return path.startsWith('..') ? basename(path) : path;
}
