import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { send } from '../support/server.ts';

const KEY = 'k'.repeat(40);

const BEYOND = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

/** Mounted in a server of the application that listens everywhere. */
async function mounted(t: TestContext, config: RdcpConfig): Promise<number> {
  const rdcp = createRdcp({ server: false, ...config });
  t.after(() => rdcp.close());
  const handle = rdcp.callback();
  const server = createServer((req, res) => handle(req, res, () => void res.end('the application')));
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  return (server.address() as AddressInfo).port;
}

function inFolder(t: TestContext): string {
  const before = process.cwd();
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-mounted-'));
  process.chdir(folder);
  t.after(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

test('mounted without a credential, only loopback is served; the application itself is untouched', async (t) => {
  assert.ok(BEYOND !== undefined, 'this machine has an address beside loopback');
  const folder = inFolder(t);
  const port = await mounted(t, {});
  const key = readFileSync(join(folder, '.rdcp/dev-key'), 'utf8').trim();
  const headers = { 'X-RDCP-API-Key': key };
  assert.equal((await send(`http://127.0.0.1:${port}${PATHS.status}`, { headers })).status, 200);

  const beyond = `http://${BEYOND}:${port}`;
  for (const path of [PATHS.status, PATHS.health, PATHS.wellKnown, PATHS.control]) {
    for (const sent of [
      headers,
      { ...headers, 'X-Forwarded-For': '127.0.0.1', Forwarded: 'for=127.0.0.1', Host: 'localhost' },
    ]) {
      const { status, body } = await send(beyond + path, { headers: sent });
      assert.equal(status, 403);
      assert.equal(body.error.code, 'RDCP_FORBIDDEN');
      assert.match(body.error.message, /loopback/);
      assert.deepEqual(body.error.details, { option: 'security.apiKeys' });
    }
  }
  assert.equal(await (await fetch(beyond)).text(), 'the application');
});

test('mounted with a credential, every address is served', async (t) => {
  const apiKeys = [{ id: 'key', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['admin' as const] }];
  const port = await mounted(t, { security: { apiKeys } });
  const { status } = await send(`http://${BEYOND}:${port}${PATHS.status}`, { headers: { 'X-RDCP-API-Key': KEY } });
  assert.equal(status, 200);
});
