import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { get } from 'node:http';
import { get as getOverTls } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import express, { type RequestHandler } from 'express';
import { category } from '../../src/api.ts';
import { hashApiKey } from '../../src/auth/api-key.ts';
import { createRdcp } from '../../src/rdcp.ts';
import { withProgram } from '../examples/required-program.ts';
import { startNginx } from './nginx.ts';
import { ADMIN, HOST, startService, temporaryFolder } from './recipe.ts';

const LINES = 6;

/** Reads a tail of which each line is written only when the one before it has arrived: held back, no second one would come. */
async function readTail(t: TestContext, request: typeof get, options: object): Promise<void> {
  const streamed = category('STREAMED');
  let written = 0;
  let arrived = 0;
  const calls = setInterval(() => {
    if (written > arrived) return;
    // Attributes are asked for only once the tail has begun.
    streamed.debug('line', () => ({ line: ++written }));
  }, 20);
  t.after(() => clearInterval(calls));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const path = `/rdcp/v1/tail?categories=STREAMED&lines=${LINES}&duration=2m`;
  request({ host: '127.0.0.1', path, agent: false, ...options }, async (response) => {
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk;
      arrived = text.match(/^event: line$/gm)?.length ?? 0;
    }
    resolve(text);
  }).once('error', reject);
  const text = await promise;
  assert.equal(arrived, LINES, text);
  assert.match(text, /^event: end$/m);
}

test('nginx, by its recipe, passes each line of a tail on when it comes', (t) =>
  withProgram(t, 'nginx', async () => {
    const { port, cert } = await startNginx(t, await startService(t, 'nginx', []));
    const headers = { ...ADMIN, Host: HOST };
    await readTail(t, getOverTls as typeof get, { port, ca: cert, servername: 'localhost', headers });
  }));

test("Express's compression passes each line of a tail on when it comes", async (t) => {
  const cwd = temporaryFolder(t);
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', 'compression@1.8'], {
    cwd,
  });
  const compression = createRequire(join(cwd, 'x.js'))('compression') as () => RequestHandler;
  const hash = hashApiKey(ADMIN['X-RDCP-API-Key']);
  const rdcp = createRdcp({
    server: false,
    announce: false,
    security: { apiKeys: [{ id: 'ops', hash, clientId: 'ops', scopes: ['admin'] }] },
  });
  t.after(() => rdcp.close());
  const server = express().use(compression()).use(rdcp.callback()).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await readTail(t, get, { port, headers: { ...ADMIN, 'Accept-Encoding': 'gzip' } });
});
