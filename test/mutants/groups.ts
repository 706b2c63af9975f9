// Runs groups of test files, each in one process, and knows which places of the sources each of them reaches.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ROOT } from '../support/built.ts';
import { importedBy, importing } from '../support/sharing.ts';

const PRELOAD = join(import.meta.dirname, '../support/preload.ts');
const LOAD = join(import.meta.dirname, 'load.ts');
const CACHE = join(ROOT, 'node_modules/.cache/mutants');
const SOURCES = `${pathToFileURL(join(ROOT, 'src')).href}/`;

type Range = readonly [start: number, end: number, count: number];

export interface Outcome {
  /** The first test that failed, or what became of the process. */
  readonly failed: string | undefined;
  readonly seconds: number;
}

export interface Group extends Outcome {
  readonly files: readonly string[];
  /** All that they load, the nearest first. */
  readonly loaded: readonly string[];
  /** How often the parts of each source ran, in each process and thread. */
  readonly ranges: Readonly<Record<string, readonly (readonly Range[])[]>>;
}

const running = new Set<number>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const pid of running) process.kill(-pid, 'SIGKILL');
    process.exit(1);
  });
}

/** Runs the tests of a group until one fails. */
export function run(files: readonly string[], seconds: number, variables: NodeJS.ProcessEnv): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-mutant-'));
  const program = join(folder, 'group.mjs');
  writeFileSync(program, importing(files));
  const began = performance.now();
  const loads = variables.MUTANT === undefined ? [PRELOAD] : [PRELOAD, LOAD];
  const options = [...loads.flatMap((path) => ['--import', path]), '--test-reporter=tap', '--test-timeout=60000'];
  const child = spawn(process.execPath, [...options, program], {
    cwd: ROOT,
    detached: true,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pid = child.pid!;
  running.add(pid);
  let failed: string | undefined;
  const fail = (why: string) => {
    failed ??= why;
    // With all that its tests have started.
    if (running.has(pid)) process.kill(-pid, 'SIGKILL');
  };
  const timer = setTimeout(() => fail('does not end'), seconds * 1000);
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
    const [, name] = /^ *not ok \d+ - (?!.*# TODO)(.*)\n/m.exec(output) ?? [];
    if (name !== undefined) fail(name);
    output = output.slice(output.lastIndexOf('\n') + 1);
  });
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      running.delete(pid);
      rmSync(folder, { recursive: true });
      if (code !== 0) failed ??= `exit code ${code}`;
      resolve({ failed, seconds: (performance.now() - began) / 1000 });
    });
  });
}

/** All files of the project that a group loads, the nearest first. */
export function loadedBy(files: readonly string[]): string[] {
  const loaded = new Set(files);
  for (const file of loaded) for (const each of importedBy(file)) loaded.add(each);
  return [...loaded];
}

/** Runs a group without a fault, or takes what is known of it: nothing that it loads has changed since. */
export async function measured(files: readonly string[], loaded: readonly string[]): Promise<Group> {
  const hash = createHash('sha256');
  for (const file of loaded) hash.update(file).update(readFileSync(join(ROOT, file)));
  const kept = join(CACHE, `${hash.digest('hex')}.json`);
  try {
    return { ...(JSON.parse(readFileSync(kept, 'utf8')) as Group), loaded };
  } catch {
    // Not known yet.
  }
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-reached-'));
  // V8 counts functions that come from the cache of compiled code with less precision.
  const outcome = await run(files, 180, { NODE_V8_COVERAGE: folder, NODE_DISABLE_COMPILE_CACHE: '1' });
  const group = { files, loaded, ...outcome, ranges: rangesIn(folder) };
  rmSync(folder, { recursive: true });
  mkdirSync(CACHE, { recursive: true });
  if (outcome.failed === undefined) writeFileSync(kept, JSON.stringify(group));
  return group;
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
    }[];
  }[];
}

function rangesIn(folder: string) {
  const ranges: Record<string, Range[][]> = {};
  for (const name of readdirSync(folder)) {
    let result: Coverage['result'];
    try {
      ({ result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Coverage);
    } catch {
      // Of a program that a test has killed.
      continue;
    }
    for (const { url, functions } of result.filter(({ url }) => url.startsWith(SOURCES))) {
      const file = relative(ROOT, fileURLToPath(url));
      const all = functions.flatMap((each) => each.ranges);
      const own = all.map(({ startOffset, endOffset, count }): Range => [startOffset, endOffset, count]);
      ranges[file] = [...(ranges[file] ?? []), own];
    }
  }
  return ranges;
}

/** Whether the tests of a group run this place. */
export function reaches({ ranges }: Group, file: string, at: number): boolean {
  return (ranges[file] ?? []).some((own) => {
    // The inner ones have counts of their own.
    const around = own.filter(([start, end]) => start <= at && at < end);
    const [, , count = 0] = around.sort(([a, b], [c, d]) => b - a - (d - c))[0] ?? [];
    return count > 0;
  });
}
