import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { asPostgres, PASSWORD, type PostgresServer, postgresFolder } from './postgres.ts';
import { until } from './until.ts';

/** A real pgbouncer in transaction mode before a server. */
export async function startPgbouncer({ port: target }: PostgresServer) {
  const port = await freePort();
  const folder = postgresFolder('rdcp-pgbouncer-');
  const file = join(folder, 'pgbouncer.ini');
  const users = join(folder, 'users');
  writeFileSync(users, `"postgres" "${PASSWORD}"\n`);
  writeFileSync(
    file,
    `[databases]
postgres = host=127.0.0.1 port=${target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = 3
`,
  );
  for (const each of [file, users]) chmodSync(each, 0o644);
  const [command, args] = asPostgres('pgbouncer', [file]);
  const running = spawn(command, args, { stdio: 'ignore', cwd: '/' });
  const ended = once(running, 'exit');
  await until('pgbouncer listens', () => accepts(port));
  return {
    url: `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    async close() {
      running.kill('SIGKILL');
      await ended;
    },
  };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
