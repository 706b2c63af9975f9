import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { built } from '../support/built.ts';

/**
 * Runs a program in which `createRedisStore` and `createPostgresStore` are at hand, and which the application's own `work` keeps alive until the
 * program clears it. Returns what it printed.
 * @throws when it does not end by itself
 */
export async function runToItsEnd(program: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const script = `
    const { createRedisStore } = await import(${JSON.stringify(built('redis.js'))});
    const { createPostgresStore } = await import(${JSON.stringify(built('postgres.js'))});
    const work = setTimeout(() => {}, 600_000);
    ${program}
  `;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  const killer = setTimeout(() => child.kill('SIGKILL'), 90_000);
  const [code, signal] = await once(child, 'exit');
  clearTimeout(killer);
  if (code !== 0) throw new Error(`ended with ${code ?? signal} after it had printed: ${printed}`);
  return printed.trim();
}
