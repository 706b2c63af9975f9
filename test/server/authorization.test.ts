import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PATHS } from '../../src/protocol/constants.ts';
import type { AuditResponse } from '../../src/protocol/messages.ts';
import { KEY_SCOPES, KEYS, type KeyName, startServer } from '../support/server.ts';

type Path = keyof typeof PATHS;

/** Who may do what, written down a second time: one of these scopes, `open` for everybody, `any` for any credential. */
const ALLOWED: Readonly<Record<Path, readonly string[] | 'open' | 'any'>> = {
  wellKnown: 'open',
  health: ['status', 'discovery', 'admin'],
  discovery: ['discovery', 'admin'],
  status: ['status', 'discovery', 'admin'],
  metrics: ['discovery', 'admin'],
  tenants: ['admin'],
  audit: ['admin'],
  session: 'any',
  fleet: ['status', 'discovery', 'admin'],
  control: ['control', 'admin'],
};
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];
const CREDENTIALS: readonly (KeyName | 'none' | 'wrong')[] = [
  ...(Object.keys(KEY_SCOPES) as KeyName[]),
  'none',
  'wrong',
];

function expectedStatus(path: Path, method: string, credential: KeyName | 'none' | 'wrong'): number {
  const methods = path === 'control' ? ['POST'] : ['GET', 'HEAD'];
  if (!methods.includes(method)) return 405;
  const allowed = ALLOWED[path];
  if (allowed === 'open') return 200;
  if (credential === 'none') return path === 'health' ? 200 : 401;
  if (credential === 'wrong') return 401;
  const scopes: readonly string[] = KEY_SCOPES[credential];
  if (allowed !== 'any' && !scopes.some((scope) => allowed.includes(scope))) return 403;
  // The server of this test shares its state with nobody.
  return path === 'fleet' ? 404 : 200;
}

test('every method on every path with every credential is answered as its scopes say', async (t) => {
  const server = await startServer(t);
  let cells = 0;
  for (const [path, target] of Object.entries(PATHS) as [Path, string][]) {
    for (const method of METHODS) {
      for (const credential of CREDENTIALS) {
        const headers: Record<string, string> =
          credential === 'none' ? {} : { 'X-RDCP-API-Key': credential === 'wrong' ? 'x'.repeat(40) : KEYS[credential] };
        const {
          status,
          body,
          headers: answered,
        } = await server.request(target, {
          method,
          headers,
          ...(!['GET', 'HEAD'].includes(method) && { body: { action: 'status' } }),
        });
        const cell = `${method} ${target} with ${credential}`;
        assert.equal(status, expectedStatus(path, method, credential), cell);
        assert.equal(answered.get('x-rdcp-protocol'), 'rdcp/1.0', cell);
        if (status === 401) assert.match(answered.get('www-authenticate') ?? '', /^ApiKey realm="rdcp"/, cell);
        if (status === 405) assert.equal(answered.get('allow'), path === 'control' ? 'POST' : 'GET, HEAD', cell);
        if (status === 403 && method !== 'HEAD') {
          assert.equal(body.error.code, 'RDCP_FORBIDDEN', cell);
          assert.equal(body.error.method, 'api-key', cell);
          assert.equal(body.error.details?.reason, 'insufficient_scopes', cell);
          assert.deepEqual(body.error.details?.providedScopes, KEY_SCOPES[credential as KeyName], cell);
          const required = body.error.details?.requiredScopes as string[];
          assert.deepEqual(new Set([...required, 'admin']), new Set(ALLOWED[path]), cell);
        }
        cells += 1;
      }
    }
  }
  assert.equal(cells, 10 * 8 * 7);
});

test('without a credential a challenge says what is needed; with a wrong one, why it was refused', async (t) => {
  const server = await startServer(t);
  const none = await server.request(PATHS.status);
  assert.equal(none.body.error.code, 'RDCP_AUTH_REQUIRED');
  const wrong = await server.request(PATHS.status, { headers: { 'X-RDCP-API-Key': 'x'.repeat(40) } });
  assert.equal(wrong.body.error.code, 'RDCP_AUTH_FAILED');
  assert.equal(wrong.body.error.method, 'api-key');
  assert.equal(wrong.body.error.details?.reason, 'invalid_key');
  assert.deepEqual(server.authFailures, [
    ['none', 'no_credential'],
    ['api-key', 'invalid_key'],
  ]);
});

test('a named method that is not the credential’s is refused, and two credentials are malformed', async (t) => {
  const server = await startServer(t);
  const mismatch = await server.request(PATHS.status, { key: 'status', headers: { 'X-RDCP-Auth-Method': 'bearer' } });
  assert.equal(mismatch.status, 401);
  assert.equal(mismatch.body.error.details?.reason, 'method_mismatch');
  const two = await server.request(PATHS.status, { key: 'status', headers: { Authorization: 'Bearer token' } });
  assert.equal(two.status, 400);
});

test('a client id in a header grants and changes nothing', async (t) => {
  const server = await startServer(t);
  const headers = { 'X-RDCP-Client-ID': 'admin-client' };
  assert.equal((await server.request(PATHS.audit, { key: 'status', headers })).status, 403);
  await server.request(PATHS.control, {
    method: 'POST',
    key: 'control',
    headers,
    body: { action: 'enable', categories: 'HTTP' },
  });
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?action=enable`, { key: 'admin' });
  assert.equal(body.entries[0]?.identity.clientId, 'control-client');
});

test('every refusal of an identity is an entry of the trail', async (t) => {
  const server = await startServer(t);
  await server.request(PATHS.control, {
    method: 'POST',
    key: 'status',
    headers: { 'X-RDCP-Request-ID': 'refused-1', 'User-Agent': 'test-agent' },
    body: { action: 'enable', categories: 'HTTP' },
  });
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?outcome=denied`, { key: 'admin' });
  const [entry] = body.entries;
  assert.equal(entry?.action, 'authorize');
  assert.equal(entry?.error, 'RDCP_FORBIDDEN');
  assert.equal(entry?.requestId, 'refused-1');
  assert.equal(entry?.identity.clientId, 'status-client');
  assert.equal(entry?.source?.address, '127.0.0.1');
  assert.equal(entry?.source?.userAgent, 'test-agent');
});
