import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApiKeyVerifier, fixedKeys, type KeySource } from '../../src/access/api-keys.ts';
import { type Authenticator, type CredentialRequest, createAuthenticator } from '../../src/access/authenticator.ts';
import type { Principal } from '../../src/access/principal.ts';
import type { ApiKeyRecord } from '../../src/options/options.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import fc from '../support/fast-check.ts';
import { failsWith, makeKey, request } from './records.ts';

function authenticator(records: readonly ApiKeyRecord[], now: () => number = Date.now): Authenticator {
  const clock = { now, monotonic: now };
  return createAuthenticator({ apiKey: createApiKeyVerifier({ keys: fixedKeys(records), clock }) });
}

test('a key gives the principal of its record and nothing of the headers', async () => {
  const limits = { allow: { categories: ['DB_*'], maxDuration: '15m' }, approval: true };
  const fields = { userId: 'ann', tenantId: 'acme', ...limits };
  const { key, record } = makeKey({ ...fields, scopes: ['status', 'control', 'status'] });
  const principal = await authenticator([record]).authenticate(
    request({ 'X-RDCP-API-Key': key, 'X-RDCP-Client-ID': 'root', 'X-RDCP-Tenant-ID': 'other' }),
  );
  assert.deepEqual(principal, {
    method: 'api-key',
    clientId: 'ops',
    ...fields,
    scopes: ['status', 'control'],
    keyId: 'k1',
  });
});

test('the user is the client where the record names none', async () => {
  const { key, record } = makeKey();
  const principal = await authenticator([record]).authenticate(request({ 'X-RDCP-API-Key': key }));
  assert.equal(principal?.userId, 'ops');
  assert.equal(principal !== undefined && 'sessionId' in principal, false);
});

test('each request is verified by its own key as it is now, whatever was sent before', () => {
  const ann = makeKey({ id: 'ann', clientId: 'ann' });
  const bob = makeKey({ id: 'bob', clientId: 'bob' });
  let records = [ann.record, bob.record];
  const keys: KeySource = {
    get value() {
      return fixedKeys(records).value;
    },
    close: () => {},
  };
  const verifier = createApiKeyVerifier({ keys, clock: { now: Date.now, monotonic: Date.now } });
  const attempt = (key: string) => verifier.verify(key);
  assert.equal((attempt(ann.key) as Principal).clientId, 'ann');
  assert.equal((attempt(bob.key) as Principal).clientId, 'bob');
  assert.throws(() => attempt(`${bob.key}x`), failsWith('RDCP_AUTH_FAILED', 'invalid_key'));
  assert.equal((attempt(bob.key) as Principal).clientId, 'bob');
  records = [ann.record];
  assert.throws(() => attempt(bob.key), failsWith('RDCP_AUTH_FAILED', 'invalid_key'));
});

test('a key is valid from its first instant until just before its last', async () => {
  let now = 0;
  const { key, record } = makeKey({ notBefore: '2026-01-01T00:00:00.000Z', expiresAt: '2026-02-01T00:00:00.000Z' });
  const auth = authenticator([record], () => now);
  const attempt = (time: string) => {
    now = Date.parse(time);
    return auth.authenticate(request({ 'X-RDCP-API-Key': key }));
  };
  await assert.rejects(attempt('2025-12-31T23:59:59.999Z'), failsWith('RDCP_AUTH_FAILED', 'invalid_key'));
  assert.equal((await attempt('2026-01-01T00:00:00.000Z'))?.expiresAt, Date.parse('2026-02-01T00:00:00.000Z'));
  await attempt('2026-01-31T23:59:59.999Z');
  await assert.rejects(attempt('2026-02-01T00:00:00.000Z'), failsWith('RDCP_AUTH_FAILED', 'invalid_key'));
});

test('whatever else is sent as a key gets one and the same answer', async () => {
  const { key, record } = makeKey();
  const auth = authenticator([record]);
  const wrong = fc.oneof(
    fc.string(),
    fc.constant(makeKey().key),
    fc.constant(''),
    fc.constant('x'.repeat(100_000)),
    fc.nat({ max: key.length - 1 }).map((at) => `${key.slice(0, at)}~${key.slice(at + 1)}`),
    fc.constantFrom(` ${key}`, `${key} `, key.toUpperCase(), record.hash, `${key}, ${key}`),
  );
  const answers = new Set<string>();
  await fc.assert(
    fc.asyncProperty(wrong, async (value) => {
      fc.pre(value !== key);
      const error = await auth.authenticate(request({ 'X-RDCP-API-Key': value })).then(
        () => assert.fail('a wrong key authenticated'),
        (refused: unknown) => refused,
      );
      assert.ok(isRdcpError(error));
      answers.add(
        JSON.stringify([error.code, error.status, error.message, error.method, error.details, error.headers]),
      );
    }),
    { numRuns: 500 },
  );
  assert.deepEqual(
    [...answers],
    [
      JSON.stringify([
        'RDCP_AUTH_FAILED',
        401,
        'The API key is not valid',
        'api-key',
        { reason: 'invalid_key' },
        { 'WWW-Authenticate': 'ApiKey realm="rdcp", header="X-RDCP-API-Key"' },
      ]),
    ],
  );
});

test('a request without a credential is not authenticated, whatever method it names', async () => {
  const auth = authenticator([makeKey().record]);
  const bare: CredentialRequest[] = [
    request({}),
    request({ 'X-RDCP-Auth-Method': 'api-key' }),
    request({ 'X-RDCP-Auth-Method': 'nonsense' }),
    request({ Authorization: 'Basic b3BzOm9wcw==' }),
    request({ Authorization: 'Bearerish token' }),
  ];
  for (const each of bare) assert.equal(await auth.authenticate(each), undefined);
});

test('a key and a bearer token together are refused, an Authorization of another scheme beside a key is not', async () => {
  const { key, record } = makeKey();
  const auth = authenticator([record]);
  for (const authorization of ['Bearer abc', 'bearer abc', 'Bearer', 'BEARER  abc']) {
    await assert.rejects(
      auth.authenticate(request({ 'X-RDCP-API-Key': key, Authorization: authorization })),
      failsWith('RDCP_MALFORMED_REQUEST'),
    );
  }
  const principal = await auth.authenticate(request({ 'X-RDCP-API-Key': key, Authorization: 'Basic eDp5' }));
  assert.equal(principal?.clientId, 'ops');
});

test('a duplicate id or hash is a wrong configuration', () => {
  const one = makeKey({ id: 'one' });
  const duplicates = [
    [one.record, makeKey({ id: 'one' }).record],
    [one.record, { ...one.record, id: 'two' }],
  ];
  for (const records of duplicates) {
    assert.throws(() => fixedKeys(records), failsWith('RDCP_CONFIG_INVALID'));
  }
});
