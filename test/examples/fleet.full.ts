// Measures, so nothing runs beside it: how fast a change reaches eight processes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createRdcpClient, type RdcpClient } from '../../src/client.ts';
import { takenPort } from '../register/running.ts';
import { assertBuilt, ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { binary } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { start } from './child.ts';
import { type Guided, startGuided } from './guided.ts';
import { withProgram } from './required-program.ts';
import { shopEnvironment } from './running-shop.ts';

const MAIN = join(ROOT, 'examples/fleet/main.ts');
const CLI = join(ROOT, 'dist/cli/main.js');

interface RunningFleet extends Guided {
  readonly client: RdcpClient;
}

async function startFleet(processes: number, store: Store): Promise<RunningFleet> {
  const shop = await shopEnvironment();
  const env = { ...shop, SHOP_PORT: shop.METRICS_PORT, FLEET_SIZE: String(processes) };
  const { child, cwd, end } = await startGuided('examples/fleet/main.ts', { env, args: ['--store', store] });
  const apiKey = readFileSync(join(cwd, '.rdcp/dev-key'), 'utf8').trim();
  // Each request on a connection of its own: the one before may lead to a process that was stopped since.
  const headers = { Connection: 'close' };
  const client = createRdcpClient({ baseUrl: `http://127.0.0.1:${env.RDCP_PORT}`, apiKey, headers });
  return { child, cwd, end, client };
}

const PROGRAMS = { redis: 'redis-server', postgres: 'postgres' };
type Store = keyof typeof PROGRAMS;

/** The example where the port of the shops is taken. */
function fleetWithoutPort(): void {
  test('where no shop can listen, the example says so and ends', (t) =>
    withProgram(t, 'redis-server', async () => {
      assertBuilt();
      const SHOP_PORT = String(await takenPort(t, '::'));
      const env = { ...(await shopEnvironment()), SHOP_PORT, FLEET_SIZE: '2' };
      const child = await start(process.execPath, [MAIN], { cwd: newFolder(t), env });
      t.after(() => child.end('SIGKILL'));
      assert.equal(await child.ended, 1);
      assert.match(
        child.output.stderr,
        /is in use: choose another by SHOP_PORT\n(.*\n)*No process of the shop is left\.\n$/,
      );
    }));
}

/** The example as a user tries it, with that many shops. */
function fleetExample(processes: number, store: Store): void {
  test(`${processes} shops behind one port follow a change made through any of them (${store})`, (t) =>
    withProgram(t, binary(PROGRAMS[store]), async () => {
      const { child, client, cwd, end } = await startFleet(processes, store);
      t.after(end);

      await t.test('a change is acknowledged by all, and seen in what they print', async () => {
        const { status, otelrdcp_fleet } = await client.enable('DATABASE', { duration: '5m' });
        assert.deepEqual(
          [status, otelrdcp_fleet?.instances, otelrdcp_fleet?.applied],
          ['success', processes, processes],
        );
        await until('debug lines of several processes', () => {
          const pids = new Set([...child.output.stderr.matchAll(/^\[(\d+)\] .*DATABASE/gm)].map(([, pid]) => pid));
          return pids.size > 1 ? true : undefined;
        });
      });

      await t.test('the commands that it prints work unchanged', async () => {
        const commands = child.output.stdout.split('\n').filter((line) => /^ {2}(RDCP_URL=\S+ )?npx rdcp /.test(line));
        assert.equal(commands.length, 4);
        for (const command of commands) {
          const run = await start('sh', ['-c', command.replace('npx rdcp', `${process.execPath} ${CLI}`)], { cwd });
          assert.equal(await run.ended, 0, `${command}: ${run.output.stdout}${run.output.stderr}`);
        }
      });

      await t.test('SIGTERM ends all of it with exit code 0', async () => {
        const { instances } = await client.fleet();
        assert.equal(await child.end(), 0, child.output.stderr);
        for (const { pid } of instances) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
      });
    }));
}

fleetExample(8, 'redis');
fleetExample(8, 'postgres');
fleetWithoutPort();
