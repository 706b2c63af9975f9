import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { outputOf } from '../support/output.ts';

/** A program that a test started, and everything it has written. */
export interface Child {
  readonly pid: number;
  readonly output: { stdout: string; stderr: string };
  /** Asks it to end, and waits: SIGKILL after ten seconds. Its exit code, or the signal that ended it. */
  end(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
  /** Waits until it has ended by itself. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

export async function start(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv },
): Promise<Child> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = outputOf(child);
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  await once(child, 'spawn');
  return { pid: child.pid ?? 0, output, ended, end: (signal = 'SIGTERM') => end(child, ended, signal) };
}

async function end<T>(child: ChildProcess, ended: Promise<T>, signal: NodeJS.Signals): Promise<T> {
  child.kill(signal);
  const deadline = setTimeout(() => child.kill('SIGKILL'), 30_000);
  try {
    return await ended;
  } finally {
    clearTimeout(deadline);
  }
}
