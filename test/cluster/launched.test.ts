import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { announced, KEY, REGISTER, start, takenPort } from '../register/running.ts';
import { built } from '../support/built.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

const SERVER = `
  import { category } from '${built('api.js')}';
  const orders = category('ORDERS');
  setInterval(() => orders.debug('placed', { pid: process.pid }), 20);
  process.stdin.resume().once('end', () => process.exit());`;

/** Programs that launch the server, and once more when it ends. */
const LAUNCHERS = {
  'by a shell': `const launch = () => left-- > 0 && spawn('sh', ['-c', '"$0" server.mjs; true', process.execPath], STDIO).once('exit', launch);`,
  'by a launcher that another one has launched': `
    const launch = process.argv[2] === undefined
      ? () => spawn(process.execPath, [process.argv[1], 'inner'], STDIO)
      : () => left-- > 0 && fork('server.mjs').once('exit', launch);`,
};

for (const [name, launcher] of Object.entries(LAUNCHERS)) {
  test(`a server launched ${name} is switched and scraped at its launcher's address, also after a restart`, async (t) => {
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, RDCP_PORT: String(await freePort()), NODE_OPTIONS: `--import ${REGISTER}` },
      options: [],
      app: `
        import { fork, spawn } from 'node:child_process';
        const STDIO = { stdio: 'inherit' };
        let left = 2;
        ${launcher}
        launch();`,
      files: { 'server.mjs': SERVER },
    });
    t.after(() => run.child.stdin.end());
    const { url, metrics } = await announced(run);
    const client = createRdcpClient({ baseUrl: url, apiKey: KEY });
    const listed = async () => (await client.discovery()).categories.some(({ name }) => name === 'ORDERS');
    await until('the category of the server', async () => (await listed()) || undefined);
    await client.enable(['ORDERS']);
    const pids = () =>
      new Set([...run.output.stderr.matchAll(/ DEBUG ORDERS placed \{"pid":(\d+)\}/g)].map(([, pid]) => pid));
    const [first] = await until('its lines', () => (pids().size === 1 ? [...pids()] : undefined));
    await until(
      'its metrics',
      async () => (await (await fetch(metrics)).text()).includes(`process_pid="${first}"`) || undefined,
    );

    process.kill(Number(first));
    await until('the lines of the next one', () => pids().size === 2 || undefined);
    assert.deepEqual(run.output.stderr.match(/(?:remote control on|did not start).*/g)?.length, 1, run.output.stderr);
  });
}

test('a process whose port another program has says so at once', async (t) => {
  const port = String(await takenPort(t, '127.0.0.1'));
  const env = { RDCP_SERVER_API_KEY: KEY, RDCP_PORT: port, OTEL_METRICS_EXPORTER: 'none' };
  const run = await start(t, { env, app: 'process.stdin.resume();' });
  await until('the line', () => /the endpoint did not start: .*in use/.test(run.output.stderr) || undefined);
});
