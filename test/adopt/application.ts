import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { built } from '../support/built.ts';
import { SERVICE_ENV } from '../support/program-env.ts';

interface Run {
  readonly config?: object;
  readonly preload?: readonly string[];
  readonly env?: Record<string, string>;
}

/** Runs an application under `register` in a folder of its own, with the packages of this project. */
export async function run(
  t: TestContext,
  app: string,
  { config = {}, preload = [built('register.js')], env = {} }: Run = {},
) {
  const cwd = mkdtempSync(join(tmpdir(), 'rdcp-adopt-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  symlinkSync(resolve('node_modules'), join(cwd, 'node_modules'));
  writeFileSync(join(cwd, 'app.mjs'), app);
  writeFileSync(join(cwd, 'rdcp.json'), JSON.stringify({ announce: false, ...config }));
  writeFileSync(
    join(cwd, 'otel-hook.mjs'),
    `import { register } from 'node:module'; register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);`,
  );
  const args = preload.flatMap((file) => ['--import', file]);
  return new Promise<{ stdout: string; stderr: string[] }>((done, failed) => {
    execFile(
      process.execPath,
      [...args, 'app.mjs'],
      {
        cwd,
        timeout: 60_000,
        env: {
          ...SERVICE_ENV,
          ...env,
        },
      },
      (error, stdout, stderr) => {
        const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('rdcp: remote control on'));
        if (error === null) done({ stdout, stderr: lines.map((line) => line.replace(/^\S+ /, '')) });
        else failed(new Error(stderr, { cause: error }));
      },
    );
  });
}
