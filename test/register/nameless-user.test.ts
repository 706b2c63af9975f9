import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { outputOf } from '../support/output.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { REGISTER, until, WAIT } from './running.ts';

/** A user without an entry in the system's list of users, as containers run with `--user 12345`. */
const NAMELESS = { uid: 12_345, gid: 12_345 };

const skip = process.getuid?.() === 0 ? false : 'only root may start a process as another user';

describe('a user without a name and a home, in a folder of root', { skip }, () => {
  /** @param temporaryMode of the temporary folder: 0o1777 as usual, or one that cannot be written */
  async function setUp(t: TestContext, temporaryMode: number) {
    const base = newFolder(t);
    chmodSync(base, 0o755);
    const [cwd, temporary] = [join(base, 'app'), join(base, 'tmp')];
    for (const folder of [cwd, temporary]) mkdirSync(folder);
    chmodSync(temporary, temporaryMode);
    const app = join(cwd, 'app.mjs');
    writeFileSync(
      app,
      `import { category } from '${built('api.js')}';\ncategory('SHOP');\nconsole.log('started');\n${WAIT}`,
    );
    const { HOME: _, ...given } = PROGRAM_ENV;
    const port = String(await freePort());
    const env = { ...given, TMPDIR: temporary, RDCP_PORT: port, OTEL_EXPORTER_PROMETHEUS_PORT: '0' };
    const options = { cwd, env, ...NAMELESS };
    const start = async () => {
      const child = spawn(process.execPath, ['--import', REGISTER, app], options);
      t.after(async () => {
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
      });
      const output = outputOf(child);
      await until(() => output.stdout.includes('started') && /rdcp: .*\n/.test(output.stderr), child, output);
      return { child, output };
    };
    const rdcp = (args: string[], more: Record<string, string> = {}, piped = '') => {
      const command = [built('cli/main.js'), ...args];
      const running = promisify(execFile)(process.execPath, command, { ...options, env: { ...env, ...more } });
      running.child.stdin?.end(piped);
      return running;
    };
    return { cwd, start, rdcp, url: `http://127.0.0.1:${port}` };
  }

  it('starts the application, keeps the key in the temporary folder, and rdcp finds it there', async (t) => {
    const { start, rdcp } = await setUp(t, 0o1777);
    const { output } = await start();
    assert.match(output.stderr, /remote control on \S+, its key in \S+\/tmp\/rdcp-12345-[0-9a-f]{16}\/dev-key,/);
    assert.match((await rdcp(['list'])).stdout, /^SHOP +off/m);
  });

  it('starts the application without the endpoint where no key can be kept, and one line says why', async (t) => {
    const { start } = await setUp(t, 0o755);
    const { child, output } = await start();
    const line = /^rdcp: the endpoint did not start: no credential is configured, and .* RDCP_SERVER_API_KEY$/gm;
    await until(() => line.test(output.stderr), child, output);
    assert.equal(output.stderr.match(line)?.length, 1);
    assert.doesNotMatch(output.stderr, /remote control on|\n +at /);
  });

  it('rdcp works with a key of the environment, and login says where profiles could be kept', async (t) => {
    const { cwd, start, rdcp, url } = await setUp(t, 0o1777);
    mkdirSync(join(cwd, '.rdcp'));
    chownSync(join(cwd, '.rdcp'), NAMELESS.uid, NAMELESS.gid);
    await start();
    const key = readFileSync(join(cwd, '.rdcp/dev-key'), 'utf8').trim();
    assert.match((await rdcp(['list'], { RDCP_API_KEY: key })).stdout, /^SHOP +off/m);
    await assert.rejects(rdcp(['list'], { RDCP_API_KEY: 'x'.repeat(40) }), /RDCP_AUTH_FAILED/);
    const login = rdcp(['login'], { RDCP_URL: url }, key);
    await assert.rejects(login, /there is no home directory: set XDG_CONFIG_HOME to a folder of your own/);
  });
});
