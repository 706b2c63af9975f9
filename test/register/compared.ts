import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { built, ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';

export interface Program {
  /** Source of the ES module, or of CommonJS. */
  readonly app: string;
  readonly commonJs?: true;
  readonly options?: readonly string[];
  readonly env?: Record<string, string>;
  /** Written to stdin after its first output; `undefined` leaves stdin open. */
  readonly input?: string;
  /** Sent after its first output. */
  readonly signal?: NodeJS.Signals;
  /** Closes its stdout after the first output. */
  readonly closesStdout?: true;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  /** Without our own lines. */
  readonly stderr: string;
}

const UNDER_REGISTER = ['--import', built('register.js')];

/** Runs a program in a folder of its own, with the packages of this project. */
export function runToEnd(t: TestContext, program: Program, register: boolean): Promise<Ended> {
  const cwd = newFolder(t);
  symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
  const file = program.commonJs ? 'app.cjs' : 'app.mjs';
  writeFileSync(join(cwd, file), program.app);
  const child = spawn(process.execPath, [...(register ? UNDER_REGISTER : []), ...(program.options ?? []), file], {
    cwd,
    env: { ...PROGRAM_ENV, RDCP_PORT: '0', OTEL_EXPORTER_PROMETHEUS_PORT: '0', ...program.env },
  });
  t.after(() => child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  child.stderr.on('data', (text) => {
    output.stderr += text;
  });
  child.stdin.on('error', () => {});
  child.stdout.once('data', () => {
    if (program.signal !== undefined) child.kill(program.signal);
    if (program.input !== undefined) child.stdin.end(program.input);
    if (program.closesStdout) child.stdout.destroy();
  });
  child.stdout.on('data', (text) => {
    // How much came before it was closed depends on the machine.
    if (!program.closesStdout) output.stdout += text;
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      const stderr = output.stderr.replaceAll(/^rdcp: .*\n/gm, '').replaceAll(cwd, '.');
      resolve({ code, signal, stdout: output.stdout, stderr });
    });
  });
}

/** Asserts that each program ends under `register` as it ends without, and returns how. */
export async function endAlike<Name extends string>(t: TestContext, programs: Readonly<Record<Name, Program>>) {
  const entries = Object.entries<Program>(programs);
  const ended = {} as Record<Name, Ended>;
  const runOne = async ([name, program]: [string, Program]) => {
    const [bare, ours] = await Promise.all([runToEnd(t, program, false), runToEnd(t, program, true)]);
    assert.deepEqual(ours, bare, name);
    ended[name as Name] = ours;
  };
  // A few at a time.
  const next = async (): Promise<void> => {
    for (let entry = entries.shift(); entry !== undefined; entry = entries.shift()) await runOne(entry);
  };
  await Promise.all([next(), next(), next(), next()]);
  return ended;
}
