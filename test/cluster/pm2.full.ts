// Every night: it installs PM2 itself; its forks and reloads are those of node:cluster, and of launched.test.ts.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import { createRdcpClient } from '../../src/client.ts';
import { blocksOf } from '../documents/blocks.ts';
import { type Consumer, finish, installInto, LINES, packInto } from '../package/consumer.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { until } from '../support/until.ts';

const KEY = generateApiKey({ env: 'test', randomBytes: (size) => Buffer.alloc(size, 7) });

const APP = `
import { createServer } from 'node:http';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
const orders = category('ORDERS');
createServer((request, response) => {
  orders.debug('listed');
  response.end(String(process.pid));
}).listen(process.env.APP_PORT, '127.0.0.1');`;

/** The recipe for PM2. */
function recipe(): string {
  const found = blocksOf('js').filter(({ code }) => code.includes("exec_mode: 'cluster'"));
  assert.equal(found.length, 1);
  return found[0]!.code;
}

describe('PM2 itself', () => {
  const directory = newFolder();
  let consumer: Consumer;
  before(async () => {
    consumer = await installInto(join(directory, 'shop'), await packInto(directory), { pm2: '7', ...LINES['3.x'] });
    const keys = [{ id: 'k', hash: hashApiKey(KEY), clientId: 'k', scopes: ['admin'] }];
    writeFileSync(join(consumer.directory, 'keys.json'), JSON.stringify({ keys }));
    writeFileSync(join(consumer.directory, 'app.js'), APP);
  });

  type Shop = Awaited<ReturnType<typeof shop>>;

  /** Starts the recipe with a daemon of its own, whose folder is `name`. */
  async function shop(t: TestContext, name: string, change: (recipe: string) => string) {
    const [port, control] = [await freePort(), await freePort()];
    const home = join(directory, name);
    mkdirSync(home);
    const env = {
      ...PROGRAM_ENV,
      HOME: home,
      PM2_HOME: home,
      APP_PORT: String(port),
      RDCP_PORT: String(control),
      OTEL_EXPORTER_PROMETHEUS_PORT: '0',
    };
    const pm2 = async (...args: string[]) => {
      const command = [join(consumer.directory, 'node_modules/pm2/bin/pm2'), ...args];
      const { code, stdout, stderr } = await finish(process.execPath, command, consumer.directory, env);
      assert.equal(code, 0, stdout + stderr);
    };
    const file = `${name}.config.cjs`;
    const code = change(recipe()).replace('/etc/shop/keys.json', join(consumer.directory, 'keys.json'));
    writeFileSync(join(consumer.directory, file), code);
    t.after(() => pm2('kill'));
    await pm2('start', file);
    const logs = join(home, 'logs');
    return {
      control: createRdcpClient({ baseUrl: `http://127.0.0.1:${control}`, apiKey: KEY }),
      /** Calls the application; @returns the process that answered. */
      call: async () => (await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })).text(),
      /** What the application's processes wrote on stderr. */
      written: () =>
        readdirSync(logs)
          .map((log) => readFileSync(join(logs, log), 'utf8'))
          .join(''),
      pm2,
    };
  }

  const enabled = ({ control }: Shop, instances: number) =>
    until('ORDERS to be switched everywhere', async () => {
      const answer = await control.enable('ORDERS', { duration: '5m' }).catch(() => undefined);
      return answer?.otelrdcp_fleet?.applied === instances || undefined;
    });

  const isOn = ({ control }: Shop) =>
    until('ORDERS to be on', async () => {
      const status = await control.status().catch(() => undefined);
      return status?.categories.ORDERS === true || undefined;
    });

  it('in cluster mode is one remote control, whose switches survive reloads', async (t) => {
    const running = await shop(t, 'cluster', (code) => code.replace("'max'", '2'));
    await enabled(running, 2);
    const answered = new Set<string>();
    await until('a line of each process', async () => {
      answered.add(await running.call());
      const lines = running.written().match(/DEBUG ORDERS listed/g) ?? [];
      return answered.size === 2 && lines.length >= 2 ? true : undefined;
    });
    await running.pm2('reload', 'shop');
    await running.pm2('reload', 'shop');
    await isOn(running);
    assert.equal(answered.has(await running.call()), false);
  });

  it('in fork mode has a process with an endpoint of its own, whose switches survive in its store', async (t) => {
    const running = await shop(t, 'fork', (code) =>
      code
        .replace("exec_mode: 'cluster', instances: 'max'", "exec_mode: 'fork'")
        .replace('env: {', `env: { RDCP_STORE: 'sqlite:${join(directory, 'fork.sqlite')}',`),
    );
    await enabled(running, 1);
    const before = await running.call();
    await until('its line', async () => (/DEBUG ORDERS listed/.test(running.written()) ? true : undefined));
    await running.pm2('reload', 'shop');
    await isOn(running);
    assert.notEqual(await running.call(), before);
  });
});
