import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';

/** The password of every server. */
export const PASSWORD = 'correct horse';

/** A real `redis-server` with a password, on a port of its own, that tests stop, freeze and restore. */
export type RedisServer = Awaited<ReturnType<typeof launch>>;

/**
 * Why the tests that need Redis cannot run here, or `false`. Where CI is set that is a failure: a suite that skips
 * everywhere proves nothing.
 */
export function whyNoRedis(): string | false {
  const missing = missingPart();
  if (missing !== false && process.env.CI === 'true') throw new Error(missing);
  return missing;
}

function missingPart(): string | false {
  if (spawnSync('redis-server', ['--version']).status !== 0) return 'redis-server is not installed';
  try {
    createRequire(import.meta.url).resolve('redis');
    return false;
  } catch {
    return 'the package redis is not installed';
  }
}

export function startRedis(...extra: string[]): Promise<RedisServer> {
  return launch((port, folder) => {
    const settings = { port: String(port), bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no' };
    const args = Object.entries({ ...settings, requirepass: PASSWORD, masterauth: PASSWORD });
    return [...args.flatMap(([name, value]) => [`--${name}`, value]), ...extra];
  });
}

/** @param argumentsOf what `redis-server` is started with, at every start */
export async function launch(argumentsOf: (port: number, folder: string) => string[]) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-redis-'));
  let running: ChildProcess | undefined;

  const server = {
    port,
    url: `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,

    /** Runs a command by a connection of its own. */
    command(...args: string[]): string {
      const env = { ...process.env, REDISCLI_AUTH: PASSWORD };
      const result = spawnSync('redis-cli', ['-p', String(port), ...args], { encoding: 'utf8', env, timeout: 5_000 });
      if (result.status !== 0) throw new Error(`redis-cli ${args[0]}: ${result.stderr}`);
      return result.stdout.trim();
    },

    async kill(): Promise<void> {
      if (running === undefined) return;
      const ended = once(running, 'exit');
      running.kill('SIGKILL');
      await ended;
      running = undefined;
    },

    /** Stops the process with SIGSTOP: connections stay open, and nobody answers. */
    freeze: (): void => void running?.kill('SIGSTOP'),
    thaw: (): void => void running?.kill('SIGCONT'),

    /** Starts it again on the same port, with the data that was saved, if any. */
    async start(): Promise<void> {
      running = spawn('redis-server', argumentsOf(port, folder), { stdio: 'ignore' });
      for (let attempt = 0; ; attempt += 1) {
        try {
          if (server.command('PING') === 'PONG') return;
        } catch (error) {
          if (attempt > 100) throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },

    /** Writes the data to the file that the next start reads. */
    save: (): void => void server.command('SAVE'),
    /** Forgets the saved data. */
    wipe: () => rmSync(join(folder, 'dump.rdb'), { force: true }),

    async close(): Promise<void> {
      server.thaw();
      await server.kill();
      rmSync(folder, { recursive: true });
    },
  };
  await server.start();
  return server;
}
