import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** The password of every server. */
export const PASSWORD = 'correct horse';

const isRoot = process.getuid?.() === 0;

/** A real PostgreSQL with a password, on a port of loopback of its own, that tests stop, freeze and restart. */
export type PostgresServer = Awaited<ReturnType<typeof serverIn>>;

/** Why the tests that need PostgreSQL cannot run here, or `false`. Where CI is set that is a failure. */
export function whyNoPostgres(...programs: readonly string[]): string | false {
  const missing = ['initdb', ...programs].find((program) => spawnSync(binary(program), ['--version']).status !== 0);
  const reason = missing === undefined ? missingPackage() : `${missing} is not installed`;
  if (reason !== false && process.env.CI === 'true') throw new Error(reason);
  return reason;
}

function missingPackage(): string | false {
  try {
    createRequire(import.meta.url).resolve('pg');
    return false;
  } catch {
    return 'the package pg is not installed';
  }
}

/** Debian keeps the programs of the server outside of PATH. */
export function binary(program: string): string {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root) : [];
  const found = versions.map((version) => join(root, version, 'bin', program)).find((path) => existsSync(path));
  return found ?? program;
}

/** PostgreSQL refuses to run as root. */
export function asPostgres(program: string, args: readonly string[]): readonly [string, string[]] {
  if (!isRoot) return [binary(program), [...args]];
  return ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', binary(program), ...args]];
}

function runAsPostgres(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const [command, rest] = asPostgres(program, args);
  const { status, stdout, stderr } = spawnSync(command, rest, {
    encoding: 'utf8',
    cwd: '/',
    env: { ...process.env, ...env },
    timeout: 60_000,
  });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return stdout;
}

/** A folder that the server's user may write. */
export function postgresFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), name));
  if (isRoot) {
    const [uid, gid] = ['-u', '-g'].map((flag) =>
      Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout),
    );
    chownSync(folder, uid ?? 0, gid ?? 0);
  }
  return folder;
}

/** @param settings of `postgresql.conf`, as `name=value` */
export async function startPostgres(...settings: readonly string[]) {
  const folder = postgresFolder('rdcp-postgres-');
  const secret = join(folder, '../', `${folder.split('/').at(-1)}.password`);
  writeFileSync(secret, PASSWORD, { mode: 0o644 });
  const options = ['-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', secret, '-N', '-E', 'UTF8'];
  runAsPostgres('initdb', ['-D', join(folder, 'data'), ...options]);
  rmSync(secret);
  return serverIn(folder, settings);
}

/** A standby that streams from a server (asynchronously), until `SELECT pg_promote()`. */
export async function replicaOf(server: PostgresServer) {
  const folder = postgresFolder('rdcp-replica-');
  const to = ['-D', join(folder, 'data'), '--write-recovery-conf', '--checkpoint=fast'];
  const from = ['-h', '127.0.0.1', '-p', String(server.port), '-U', 'postgres'];
  runAsPostgres('pg_basebackup', [...to, ...from], { PGPASSWORD: PASSWORD });
  return serverIn(folder);
}

/** Starts what `initdb` or `pg_basebackup` has made in the folder's `data`. */
async function serverIn(folder: string, settings: readonly string[] = []) {
  const port = await freePort();
  const data = join(folder, 'data');
  let running: ChildProcess | undefined;

  /** The server and its processes; none once it has ended. */
  function processes(): number[] {
    const pid = running?.pid;
    if (pid === undefined) return [];
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return [pid, ...children.split(' ').flatMap((each) => (each === '' ? [] : [Number(each)]))];
  }

  function signal(pids: readonly number[], name: NodeJS.Signals): void {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  const server = {
    port,
    /** Holds its data, which only its user may change. */
    folder,
    url: `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,

    /** Runs SQL by a connection of its own; returns rows as lines, columns divided by `|`. */
    sql(text: string): string {
      return runAsPostgres(
        'psql',
        ['-X', '-A', '-t', '-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-c', text],
        {
          PGPASSWORD: PASSWORD,
        },
      ).trim();
    },

    /** Ends all of its processes with SIGKILL. */
    async kill(): Promise<void> {
      if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
      const all = processes();
      const ended = once(running, 'exit');
      signal(all, 'SIGKILL');
      await ended;
      // The next start waits for the memory that they share.
      await until('its processes are gone', () => all.every((pid) => !existsSync(`/proc/${pid}`) || isZombie(pid)));
      running = undefined;
    },

    /** Stops all of its processes with SIGSTOP: connections stay open, and nothing is answered. */
    freeze: () => signal(processes(), 'SIGSTOP'),
    thaw: () => signal(processes(), 'SIGCONT'),

    /** Starts it again on the same port, with its data. */
    async start(): Promise<void> {
      const given = [
        `port=${port}`,
        'listen_addresses=127.0.0.1',
        `unix_socket_directories=${folder}`,
        'fsync=off',
        ...settings,
      ];
      const [command, args] = asPostgres('postgres', ['-D', data, ...given.flatMap((each) => ['-c', each])]);
      running = spawn(command, args, { stdio: 'ignore', cwd: '/' });
      await until('PostgreSQL answers', () => {
        try {
          return server.sql('SELECT 1') === '1';
        } catch {
          return false;
        }
      });
    },

    async close(): Promise<void> {
      server.thaw();
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}
