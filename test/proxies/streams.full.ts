// Measures, so nothing runs beside it: how soon a tail ends whose reader has left.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer, get } from 'node:http';
import { get as getOverTls } from 'node:https';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import express, { type RequestHandler } from 'express';
import { hashApiKey } from '../../src/access/api-key.ts';
import { category } from '../../src/api.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { withProgram } from '../examples/required-program.ts';
import { newFolder } from '../support/folder.ts';
import { portOf } from '../support/listening.ts';
import { until } from '../support/until.ts';
import { ADDRESSES, startHaproxy } from './haproxy.ts';
import { startNginx } from './nginx.ts';
import { ADMIN, HOST, type Service, startService } from './recipe.ts';

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

/**
 * Begins tails through a proxy and leaves each. Every one of them gets a place, and the service notices within seconds that
 * their readers have left.
 */
async function leaveTails(service: Service, { port, cert }: { port: number; cert: string }): Promise<void> {
  const options = { host: '127.0.0.1', port, ca: cert, servername: 'localhost', ALPNProtocols: ['http/1.1'] };
  category('LEFT');
  for (let count = 0; count < 12; count += 1) {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const path = '/rdcp/v1/tail?categories=LEFT&duration=2m';
    const request = getOverTls({ ...options, path, agent: false, headers: { ...ADMIN, Host: HOST } }, (response) => {
      response.once('data', () => {
        resolve(response.statusCode);
        request.destroy();
      });
    });
    request.once('error', reject);
    assert.equal(await promise, 200);
  }
  const begun = performance.now();
  const states = async () => (await service.audit()).map(({ otelrdcp_tail: tail }) => tail?.state);
  const count = (all: Awaited<ReturnType<typeof states>>, state: string) => all.filter((one) => one === state).length;
  await until('every tail to end', async () => count(await states(), 'end') === 12 || undefined, 30_000);
  const seconds = (performance.now() - begun) / 1000;
  assert.ok(seconds < 13, `${seconds} s`);
}

test('behind HAProxy an abandoned tail ends within seconds and frees its place', (t) =>
  withProgram(t, 'haproxy', async () => {
    const service = await startService(t, 'HAProxy', ADDRESSES, { store: 'memory:' });
    await leaveTails(service, await startHaproxy(t, [service.port, service.port]));
  }));

test('behind nginx an abandoned tail ends within seconds and frees its place', (t) =>
  withProgram(t, 'nginx', async () => {
    const service = await startService(t, 'nginx', []);
    await leaveTails(service, await startNginx(t, service));
  }));

test("Express's compression passes each line of a tail on when it comes", async (t) => {
  const cwd = newFolder(t);
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
  const port = await portOf(t, createServer(express().use(compression()).use(rdcp.callback())));
  await readTail(t, get, { port, headers: { ...ADMIN, 'Accept-Encoding': 'gzip' } });
});
