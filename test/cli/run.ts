import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the command as a process of its own, with nothing of our environment that it reads. */
export function rdcp(args: readonly string[], { cwd, env = {} }: RunOptions = {}): Promise<Finished> {
  const { RDCP_URL: _url, RDCP_PORT: _port, RDCP_API_KEY: _key, ...rest } = process.env;
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], { cwd, env: { ...rest, ...env } }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });
}

export function temporaryDirectory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'rdcp-cli-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}
