import { execFile } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { running, type StoreServer } from './server.ts';

const execute = promisify(execFile);

/** Where Debian keeps the programs of the server, by version. */
const DEBIAN = '/usr/lib/postgresql';

/**
 * The PostgreSQL that is named, or one of the example's own, with a socket in a folder that only this user may enter.
 * @throws when there is no PostgreSQL to start
 */
export async function openPostgres(url: string | undefined): Promise<StoreServer> {
  if (url !== undefined && url !== '') return running(url);
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-fleet-'));
  // By pg_ctl the server has a session of its own: Ctrl-C in a terminal is for the shops, which still say goodbye through it.
  let pgCtl: (...args: string[]) => Promise<unknown> = async () => {};
  const close = async () => {
    await pgCtl('stop', '--mode=fast').catch(() => {});
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const user = await serverUser(folder);
    pgCtl = (...args) =>
      execute(pgCtlProgram(), [...args, '--silent', '--pgdata', join(folder, 'data')], { ...user, cwd: '/' });
    await pgCtl('initdb', '--options=--username=postgres --auth=trust --encoding=UTF8 --no-sync');
    const settings = ["listen_addresses=''", `unix_socket_directories='${folder}'`, 'port=5432', 'fsync=off'];
    const options = settings.map((setting) => `-c ${setting}`).join(' ');
    await pgCtl('start', '--wait', `--log=${join(folder, 'log')}`, `--options=${options}`);
    return { url: `postgres://postgres@${encodeURIComponent(folder)}/postgres`, close };
  } catch (cause) {
    await close();
    throw new Error('needs PostgreSQL (Debian: apt-get install postgresql), or DATABASE_URL', { cause });
  }
}

/** The newest version that Debian has, otherwise the one of PATH. */
function pgCtlProgram(): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const programs = versions.map((version) => join(DEBIAN, version, 'bin/pg_ctl'));
  return programs.find((program) => existsSync(program)) ?? 'pg_ctl';
}

/** PostgreSQL refuses to run as root: there it gets the folder, and the user that its package made. */
async function serverUser(folder: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const idOf = async (flag: string) => Number((await execute('id', [flag, 'postgres'])).stdout);
  const user = { uid: await idOf('-u'), gid: await idOf('-g') };
  chownSync(folder, user.uid, user.gid);
  return user;
}
