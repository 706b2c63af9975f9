import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { outputOf } from '../support/output.ts';
import { until } from '../support/until.ts';

/** A program that a test started, with everything it wrote. */
export interface Program {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  /** The first match in what it writes on one of the two, or a failure that tells what it wrote. */
  found(pattern: RegExp, where?: 'stdout' | 'stderr'): Promise<RegExpExecArray>;
  /** Its exit code or the signal that ended it, once it has ended and all that it wrote is there. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** What it ended with, or `undefined` when it has not by then. */
  endedWithin(ms: number): Promise<number | NodeJS.Signals | undefined>;
  kill(): Promise<unknown>;
}

export interface ProgramOptions {
  readonly args?: readonly string[];
  /** Modules that are loaded before it. */
  readonly imports?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** How long a program may take to start, on a machine with much else to do. */
const START_MS = 60_000;

/** Runs a file by the Node of this process, with a channel for messages. It does not outlive the test. */
export function run(t: TestContext, file: string, { args = [], imports = [], env, cwd }: ProgramOptions = {}): Program {
  const child = spawn(
    process.execPath,
    ['--no-warnings', ...imports.flatMap((module) => ['--import', module]), file, ...args],
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: { ...process.env, ...env }, cwd },
  );
  const output = outputOf(child);
  // A message that meets a process which ends is lost, which is all the same here.
  child.on('error', () => undefined);
  const ended = once(child, 'close').then(([code, signal]): number | NodeJS.Signals => code ?? signal);
  const kill = () => {
    child.kill('SIGKILL');
    return ended;
  };
  t.after(kill);
  return {
    child,
    output,
    ended,
    kill,
    found: (pattern, where = 'stdout') =>
      until(
        `${pattern} on ${where} of ${file}`,
        () => {
          const match = pattern.exec(output[where]);
          if (match === null && child.exitCode !== null) throw new Error(`${file} ended: ${output.stderr}`);
          return match ?? undefined;
        },
        START_MS,
      ),
    endedWithin: (ms) => Promise.race([ended, sleep(ms, undefined, { ref: false })]),
  };
}
