// In a process of its own: it starts a server for all of its tests.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createRdcp, type Rdcp } from '../../src/assembly/rdcp.ts';
import { createRdcpClient, isRdcpError, type RdcpClient } from '../../src/client.ts';
import { rdcp as command } from '../cli/run.ts';
import { newFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';

// The client and the command against a service as an application runs it: one process, a keys file, the memory store.
const file = join(newFolder(), 'keys.json');
let service: Rdcp | undefined;
let url: string;
let key: string;
let client: RdcpClient;

async function createKey(scopes: string): Promise<string> {
  const args = ['keys', 'create', '--file', file, '--client', 'ops', '--scopes', scopes];
  const { stdout, stderr, code } = await command(args);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

before(async () => {
  key = await createKey('discovery,status,control,admin');
  service = createRdcp({
    server: { port: 0 },
    categories: { SQL: { description: 'queries' }, HTTP: { description: 'requests' } },
    security: { apiKeys: { file } },
  });
  url = (await service.listen()).url;
  client = createRdcpClient({ baseUrl: url, apiKey: key });
});

after(async () => {
  // `before` is skipped where a pattern chooses none of these tests.
  await service?.close();
});

test('every call of the client is answered by the service', async () => {
  assert.equal((await client.wellKnown()).security.required, true);
  const names = (await client.discovery()).categories.map(({ name }) => name);
  assert.ok(names.includes('SQL') && names.includes('HTTP'));
  assert.equal((await client.enable('SQL', { duration: '5m', reason: 'slow pages' })).changes[0]?.temporary, true);
  assert.equal((await client.status()).categories.SQL, true);
  assert.equal(service?.category('SQL').enabled, true);
  assert.equal((await client.toggle(['SQL'])).changes[0]?.newState, false);
  assert.equal((await client.reset(['SQL'])).status, 'success');
  assert.equal((await client.control({ action: 'status' })).action, 'status');
  assert.equal((await client.health()).status, 'healthy');
  assert.equal((await client.metrics()).metrics.callsTotal?.measured, true);
  assert.equal((await client.session()).userId, 'ops');
});

test('a refusal of the service is an error with its code, status and details', async () => {
  await assert.rejects(client.enable('NOPE'), (error) => {
    assert.ok(isRdcpError(error));
    assert.equal(error.code, 'RDCP_CATEGORY_NOT_FOUND');
    assert.equal(error.status, 404);
    assert.deepEqual(error.details?.unknown, ['NOPE']);
    return true;
  });
  await assert.rejects(createRdcpClient({ baseUrl: url }).status(), (error) => {
    return isRdcpError(error) && error.code === 'RDCP_AUTH_REQUIRED' && error.status === 401;
  });
});

test('a key made while the service runs works, and ends when it is revoked', async () => {
  const fresh = await createKey('status');
  const other = createRdcpClient({ baseUrl: url, apiKey: fresh });
  const works = () => other.status().then(Boolean, () => false);
  await until('the new key works', works);
  const { stdout } = await command(['keys', 'list', '--file', file, '--json']);
  const id: string = JSON.parse(stdout).keys.at(-1).id;
  assert.equal((await command(['keys', 'revoke', '--file', file, id])).code, 0);
  await until('the revoked key is refused', async () => !(await works()));
  assert.equal((await client.session()).userId, 'ops', 'the first key goes on');
});
