import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CredentialRequest } from '../../src/access/authenticator.ts';
import { type CredentialSettings, openAuthentication } from '../../src/access/configured.ts';
import { findDevKey } from '../../src/access/dev-key.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { newFolder } from '../support/folder.ts';
import { failsWith, makeKey, request } from './records.ts';
import { AUDIENCE, claims, ISSUER, SECRET, secretBytes, sign, stoppedClock } from './tokens.ts';

function open(t: TestContext, settings: CredentialSettings, cwd = newFolder(t), tenancy?: boolean) {
  const opened = openAuthentication(settings, { clock: stoppedClock(), cwd, report: assert.fail, tenancy });
  t.after(() => opened.authenticator.close());
  return { ...opened, cwd };
}

const withKey = (key: string) => request({ 'X-RDCP-API-Key': key });

test('without any credential the development key is the only one', async (t) => {
  const { authenticator, cwd } = open(t, {});
  assert.deepEqual(authenticator.methods, ['api-key']);
  const principal = await authenticator.authenticate(withKey(findDevKey(cwd)?.key ?? ''));
  assert.deepEqual(principal?.scopes, ['discovery', 'status', 'control', 'admin']);
  assert.equal(principal?.clientId, 'dev');
});

test('with any kind of credential no development key is made', async (t) => {
  const { key, record } = makeKey();
  const file = join(newFolder(t), 'keys.json');
  writeFileSync(file, JSON.stringify({ keys: [record] }));
  const jwt = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256'], secret: SECRET } as const;
  const identity = { userId: 'ops', scopes: ['status' as const], san: 'ops.example' };
  const token = request({ authorization: `Bearer ${await sign(secretBytes(), { alg: 'HS256' }, claims())}` });
  const kinds: [CredentialSettings, string[], CredentialRequest?, string?][] = [
    [{ apiKeys: [record] }, ['api-key'], withKey(key), 'ops'],
    [{ apiKeys: { file } }, ['api-key'], withKey(key), 'ops'],
    [{ jwt }, ['bearer'], token, 'ann'],
    [{ apiKeys: [record], jwt: [jwt] }, ['api-key', 'bearer'], token, 'ann'],
    [{ introspection: { endpoint: 'https://id.example/introspect', clientId: 'rdcp' } }, ['bearer']],
    [{ mtls: { identities: [identity] } }, ['mtls']],
    [{ authenticate: () => undefined }, ['bearer']],
  ];
  for (const [settings, methods, credential, userId] of kinds) {
    const { authenticator, tokens, cwd } = open(t, settings);
    assert.deepEqual([authenticator.methods, tokens, readdirSync(cwd)], [methods, undefined, []]);
    if (credential !== undefined) assert.equal((await authenticator.authenticate(credential))?.userId, userId);
  }
  const withoutKeys = open(t, { jwt }).authenticator.authenticate(withKey(key));
  await assert.rejects(withoutKeys, failsWith('RDCP_AUTH_FAILED', 'invalid_key'));
});

test('an empty list of keys admits no request', async (t) => {
  const { authenticator, cwd } = open(t, { apiKeys: [] });
  assert.equal(findDevKey(cwd), undefined);
  await assert.rejects(
    authenticator.authenticate(withKey(makeKey().key)),
    failsWith('RDCP_AUTH_FAILED', 'invalid_key'),
  );
});

test('the error of an unusable keys file names the field of the configuration', (t) => {
  const directory = newFolder(t);
  assert.throws(() => open(t, { apiKeys: { file: join(directory, 'keys.json') } }), {
    code: 'RDCP_CONFIG_INVALID',
    message: 'configuration: security.apiKeys.file: keys file keys.json: the file cannot be read (ENOENT)',
    details: { field: 'security.apiKeys.file' },
  });
});

test('tokens need a store that keeps their records, and a signing key that can be read', (t) => {
  const settings = { issuer: ISSUER, audience: AUDIENCE, accessTokenSeconds: 900, refreshTokenSeconds: 28_800 };
  const options = { clock: stoppedClock(), cwd: newFolder(t), report: assert.fail };
  const apiKeys = [makeKey().record];
  assert.throws(
    () => openAuthentication({ apiKeys, tokens: { ...settings, secret: SECRET } }, options),
    /security\.tokens needs a store that keeps token records/,
  );
  const tokenStore = createMemoryStore().records;
  const wrong = { signingKeyFile: '/nowhere/signing.pem', short: 'x' };
  assert.throws(
    () =>
      openAuthentication(
        { apiKeys, tokens: { ...settings, signingKeyFile: wrong.signingKeyFile } },
        { ...options, tokenStore },
      ),
    /signing key file signing\.pem: the file cannot be read \(ENOENT\)/,
  );
  assert.throws(
    () => openAuthentication({ apiKeys, tokens: { ...settings, secret: wrong.short } }, { ...options, tokenStore }),
    /security\.tokens\.secret must hold at least 32 bytes/,
  );
});

test('where there are no tenants a credential of one stops the start, by the name of its client', (t) => {
  const { key, record } = makeKey({ clientId: 'acme-ops', tenantId: 'acme' });
  const cwd = newFolder(t);
  const file = join(cwd, 'keys.json');
  writeFileSync(file, JSON.stringify({ keys: [makeKey({ id: 'k0' }).record, record] }));
  const mtls = {
    identities: [{ san: 'ops.example', userId: 'acme-ops', tenantId: 'acme', scopes: ['status' as const] }],
  };
  const cases: [CredentialSettings, RegExp][] = [
    [{ apiKeys: [record] }, /^security\.apiKeys\.0\.tenantId needs tenancy: the key of client acme-ops /],
    [{ apiKeys: { file } }, /security\.apiKeys\.file: .*keys\.1\.tenantId needs tenancy: the key of client acme-ops /],
    [{ mtls }, /^security\.mtls\.identities\.0\.tenantId needs tenancy: the certificate of client acme-ops /],
  ];
  for (const [settings, message] of cases) {
    assert.throws(
      () => open(t, settings, cwd, false),
      (error) => {
        assert.ok(isRdcpError(error));
        assert.equal(error.code, 'RDCP_CONFIG_INVALID');
        assert.match(error.message, message);
        for (const secret of [key, record.hash, cwd]) assert.ok(!error.message.includes(secret));
        return true;
      },
    );
    open(t, settings, cwd, true);
  }
});
