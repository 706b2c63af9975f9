import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { generateApiKey, hashApiKey } from '../src/access/api-key.ts';
import { createRdcp } from '../src/assembly/rdcp.ts';
import { createMemoryStore } from '../src/store/memory/store.ts';
import { settled } from './support/virtual-time.ts';

const KEY = generateApiKey({ env: 'test', randomBytes: (size) => new Uint8Array(size) });
const security = { apiKeys: [{ id: 'ops', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['admin' as const] }] };

test('a TLS file that is missing is named by its field, at once', () => {
  const tls = { certFile: import.meta.filename, keyFile: import.meta.filename, clientCaFile: 'missing.pem' };
  assert.throws(() => createRdcp({ server: { tls }, security }), {
    code: 'RDCP_CONFIG_INVALID',
    message: 'configuration: server.tls.clientCaFile cannot be read (ENOENT)',
    details: { field: 'server.tls.clientCaFile' },
  });
});

test('a key of a tenant stops the start of a server that has none, and is named by its client', () => {
  const apiKeys = security.apiKeys.map((record) => ({ ...record, tenantId: 'acme' }));
  assert.throws(() => createRdcp({ server: { port: 0 }, security: { apiKeys } }), {
    code: 'RDCP_CONFIG_INVALID',
    message: 'security.apiKeys.0.tenantId needs tenancy: the key of client ops belongs to a tenant',
    details: { field: 'security.apiKeys.0.tenantId' },
  });
});

test('once closed it does not listen, rather than name an address that is not served', async () => {
  const rdcp = createRdcp({ server: { port: 0 }, security });
  after(() => rdcp.close());
  await rdcp.listen();
  await rdcp.close();
  await assert.rejects(rdcp.listen(), { code: 'RDCP_UNAVAILABLE' });
});

test('closing ends although the store of the application never closes', async (t) => {
  const store = { ...createMemoryStore(), close: () => new Promise<never>(() => undefined) };
  const rdcp = createRdcp({ server: false, security, store });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let closed = false;
  const closing = rdcp.close().then(() => {
    closed = true;
  });
  await settled();
  assert.equal(closed, false);
  t.mock.timers.tick(15_000);
  await closing;
});
