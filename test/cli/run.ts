import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { rdcp as command } from '../../src/cli/rdcp.ts';
import { built } from '../support/built.ts';

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the command in this process, with nothing of our environment that it reads. */
export async function rdcp(args: readonly string[], { cwd = process.cwd(), env }: RunOptions = {}): Promise<Finished> {
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const code = await command(args, {
    stdout: { write: (text) => stdout.push(text) },
    stderr: { write: (text) => stderr.push(text) },
    env: environment(env),
    cwd,
  });
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

/** The same as a process of its own, for tests that are about processes. */
export function rdcpProcess(args: readonly string[], { cwd, env }: RunOptions = {}): Promise<Finished> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [built('cli/main.js'), ...args],
      { cwd, env: environment(env) },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
      },
    );
  });
}

function environment(env: RunOptions['env']): Record<string, string | undefined> {
  const { RDCP_URL: _url, RDCP_PORT: _port, RDCP_API_KEY: _key, ...rest } = process.env;
  return { ...rest, ...env };
}

export function temporaryDirectory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'rdcp-cli-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}
