import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CredentialRequest } from '../../src/access/authenticator.ts';
import { assertLevel, type CredentialSettings, openAuthentication } from '../../src/access/configured.ts';
import { findDevKey } from '../../src/access/dev-key.ts';
import { parseConfig } from '../../src/options/config.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
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
  const tokens = { ...settings, signingKeyFile: '/nowhere/signing.pem' };
  assert.throws(
    () => openAuthentication({ apiKeys, tokens }, { ...options, tokenStore }),
    /signing key file signing\.pem: the file cannot be read \(ENOENT\)/,
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

const jwt = { issuer: 'https://id.example/', audience: 'rdcp', algorithms: ['HS256' as const], secret: 'x'.repeat(32) };
const tokens = { issuer: 'rdcp', audience: 'rdcp', secret: 'x'.repeat(32) };
const introspection = { endpoint: 'https://id.example/introspect', clientId: 'rdcp' };
const mtls = { identities: [] };
const tls = { certFile: 'c', keyFile: 'k', clientCaFile: 'ca' };
const authenticate = () => undefined;

function problem(config: RdcpConfig): string | undefined {
  try {
    assertLevel(parseConfig(config));
    return undefined;
  } catch (error) {
    assert.ok(isRdcpError(error));
    assert.equal(error.code, 'RDCP_CONFIG_INVALID');
    assert.ok(!error.message.includes('\n'));
    return error.message;
  }
}

test('a level whose promises the configuration can keep is accepted', () => {
  const kept: RdcpConfig[] = [
    {},
    { security: { level: 'basic', tokens } },
    { security: { level: 'standard', jwt } },
    { security: { level: 'standard', introspection } },
    { security: { level: 'standard', tokens } },
    { security: { level: 'standard', authenticate } },
    { server: { tls }, security: { level: 'standard', tokens, mtls } },
    { server: { tls }, security: { level: 'enterprise', mtls } },
    { server: { tls }, security: { level: 'enterprise', tokens } },
    { server: false, security: { level: 'enterprise', mtls } },
  ];
  for (const config of kept) assert.equal(problem(config), undefined, JSON.stringify(config));
});

test('a level whose promises it cannot keep is refused by one line that says why', () => {
  const { clientCaFile: _, ...withoutAuthority } = tls;
  const refused: [RdcpConfig, RegExp][] = [
    [{ security: { level: 'standard' } }, /security\.level standard needs bearer tokens/],
    [{ security: { level: 'standard', apiKeys: [] } }, /security\.level standard needs bearer tokens/],
    [{ server: { tls }, security: { level: 'standard', mtls } }, /security\.level standard needs bearer tokens/],
    [{ security: { level: 'enterprise' } }, /security\.level enterprise needs server\.tls\.clientCaFile/],
    [{ security: { level: 'enterprise', tokens } }, /security\.level enterprise needs server\.tls\.clientCaFile/],
    [
      { server: { tls: withoutAuthority }, security: { level: 'enterprise', tokens } },
      /security\.level enterprise needs server\.tls\.clientCaFile/,
    ],
    [{ server: { behindTlsProxy: true }, security: { level: 'enterprise', tokens } }, /clientCaFile/],
    [
      { server: { tls }, security: { level: 'enterprise' } },
      /security\.level enterprise needs security\.mtls, or bearer tokens/,
    ],
    [{ security: { mtls } }, /security\.mtls needs server\.tls\.clientCaFile/],
  ];
  for (const [config, expected] of refused) assert.match(problem(config) ?? 'accepted', expected);
});

test('the error of wrong credential settings names the field', () => {
  const identity = (more: object) => ({ mtls: { identities: [{ userId: 'a', scopes: ['admin'], ...more }] } });
  const wrong: [object, RegExp][] = [
    [{ tokens: { issuer: 'rdcp', audience: 'rdcp' } }, /security\.tokens must hold one of signingKeyFile and secret/],
    [{ tokens: { ...tokens, signingKeyFile: 'k' } }, /security\.tokens must hold one of/],
    [{ tokens: { ...tokens, accessTokenSeconds: 0 } }, /security\.tokens\.accessTokenSeconds/],
    [{ tokens: { ...tokens, audience: [] } }, /security\.tokens\.audience/],
    [{ introspection: { clientId: 'rdcp' } }, /security\.introspection\.endpoint/],
    [{ introspection: { ...introspection, cache: 1 } }, /security\.introspection\.cache is not a known field/],
    [identity({}), /identities\.0 must hold one of/],
    [identity({ san: 'a.example', subject: 'CN=a' }), /identities\.0 must hold one of/],
    [identity({ scopes: [], san: 'a' }), /identities\.0\.scopes/],
    [identity({ scopes: ['root'], san: 'a' }), /identities\.0\.scopes/],
    [identity({ fingerprint256: 'ab' }), /fingerprint256 must be 64 hex/],
    [identity({ subject: 'ops' }), /subject must be a whole subject/],
    [{ authenticate: 'ann' }, /security\.authenticate must be a function/],
  ];
  for (const [security, expected] of wrong) {
    assert.throws(() => parseConfig({ security }), expected);
  }
});
