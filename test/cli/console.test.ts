import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openInBrowser } from '../../src/tools/cli/browser.ts';
import { CONSOLE_PATHS } from '../../src/wire/constants.ts';
import type { ConsoleSessionResponse } from '../../src/wire/messages.ts';
import { newFolder } from '../support/folder.ts';
import { KEYS, startServer } from '../support/server.ts';
import { rdcp, saying } from './run.ts';
import { madeUp, service } from './service.ts';

const ENV = { RDCP_API_KEY: KEYS.operator };
const says = saying(rdcp);
const SIGNED_IN = /^(http:\/\/127\.0\.0\.1:\d+\/rdcp\/console\/)#code=([\w-]{43})$/;

test('rdcp console opens the page with a code that signs in, and does not print the code', async (t) => {
  const server = await startServer(t);
  const opened: string[] = [];
  const browse = async (url: string) => {
    opened.push(url);
    return true;
  };
  const { stderr } = await says(`console --url ${server.url}`, '', { env: ENV, browse });
  const [, address, secret] = SIGNED_IN.exec(opened[0] ?? '') ?? [];
  assert.equal(opened.length, 1);
  assert.equal(stderr, `Opened ${address} in the browser, signed in.\n`);
  const body = { code: secret };
  const redeemed = await server.request<ConsoleSessionResponse>(CONSOLE_PATHS.session, { method: 'POST', body });
  assert.deepEqual(redeemed.body.credential, { kind: 'api-key', value: KEYS.operator });
});

test('with --no-open, and where there is no browser, the address is the output', async (t) => {
  const server = await startServer(t);
  let asked = 0;
  const browse = async () => {
    asked += 1;
    return false;
  };
  for (const [option, times] of [
    ['--no-open', 0],
    ['', 1],
  ] as const) {
    const err = 'Open this address within 60 seconds; it signs in once:\n';
    const { stdout } = await says(`console --url ${server.url}/ ${option}`, undefined, { env: ENV, browse, err });
    assert.match(stdout.trimEnd(), SIGNED_IN);
    assert.equal(asked, times);
  }
});

test('without a credential, and for a service on another machine, the address comes without a code', async (t) => {
  const cwd = newFolder(t);
  const server = await startServer(t);
  const err = /^Without a code: no credential/;
  await says(`console --no-open --url ${server.url}`, `${server.url}/rdcp/console/\n`, { cwd, err });
});

test('a service without the console is a refusal, one that is not there is unreachable, a wrong key is refused', async (t) => {
  const without = await startServer(t, { config: { console: false } });
  const at = (url: string) => `console --no-open --url ${url}`;
  await says(at(without.url), '', { env: ENV, code: 1, err: /^rdcp: this service serves no console/ });
  const { url } = await service(t, { endpoints: {} });
  await says(at(url), '', { env: ENV, code: 1 });
  const server = await startServer(t);
  await says(at(server.url), '', { env: { RDCP_API_KEY: 'k'.repeat(40) }, code: 1, err: /RDCP_AUTH_FAILED/ });
  await server.close();
  await says(at(server.url), '', { env: ENV, code: 4 });
  await says('console more', '', { env: ENV, code: 2 });
});

test('the address reaches the opener of the desktop as one argument, and no shell', async (t) => {
  const folder = newFolder(t);
  const seen = join(folder, 'seen');
  const opener = join(folder, 'xdg-open');
  writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$@" > '${seen}'\n[ "$1" != fail ]\n`);
  chmodSync(opener, 0o755);
  const env = { PATH: `${folder}:${process.env.PATH}`, DISPLAY: ':0' };
  const url = `http://127.0.0.1:9465/rdcp/console/#code=$(touch ${folder}/ran);a&b`;
  assert.equal(await openInBrowser(url, env, 'linux'), true);
  assert.equal(readFileSync(seen, 'utf8'), `${url}\n`);
  assert.equal(existsSync(join(folder, 'ran')), false);
  assert.equal(await openInBrowser('fail', env, 'linux'), false);
  assert.equal(await openInBrowser(url, { PATH: folder }, 'linux'), false, 'no desktop');
  assert.equal(await openInBrowser(url, { PATH: '/nonexistent', DISPLAY: ':0' }, 'linux'), false, 'no opener');
});

test('a service that was bundled without the files of the console says so, instead of an address of nothing', async (t) => {
  const url = await madeUp(t, (request, response) => {
    const isPage = request.url?.startsWith(CONSOLE_PATHS.page);
    response.writeHead(isPage ? 404 : 200, { 'Content-Type': 'application/json' });
    const answer = { protocol: 'rdcp/1.0', timestamp: '2026-01-01T00:00:00.000Z' };
    response.end(JSON.stringify({ ...answer, otelrdcp_console: { page: CONSOLE_PATHS.page } }));
  });
  const err = /^rdcp: the service has no console files: it was bundled/;
  await says(`console --url ${url}`, '', { env: ENV, code: 1, err });
});
