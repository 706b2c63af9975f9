import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRemoteJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { hashApiKey } from '../../src/access/api-key.ts';
import type { ApiKeyRecord } from '../../src/options/options.ts';
import { PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { WellKnownDocument } from '../../src/wire/messages.ts';
import type { AuthorizationServerMetadata } from '../../src/wire/oauth-messages.ts';
import { newFolder } from '../support/folder.ts';
import { KEYS } from '../support/server.ts';
import { until } from '../support/until.ts';
import { bearer, exchangeKey, refresh, session, startTokenServer, tokenSettings } from './tokens.ts';

const RECORD: ApiKeyRecord = {
  id: 'operator',
  hash: hashApiKey(KEYS.operator),
  clientId: 'operator-client',
  userId: 'ann',
  scopes: ['status', 'control'],
};
const CONTROL = { method: 'POST', body: { action: 'status' } };

/** A server with tenants whose keys file is changed, and what a token for its key may do. */
async function withKey(t: TestContext, scopes: ApiKeyRecord['scopes'] = RECORD.scopes) {
  const directory = newFolder(t);
  const file = join(directory, 'keys.json');
  const write = (changes: Partial<ApiKeyRecord>) =>
    writeFileSync(file, JSON.stringify({ keys: [{ ...RECORD, scopes, ...changes }] }));
  write({});
  const server = await startTokenServer(
    t,
    { apiKeys: { file } },
    { config: { tenancy: { isolation: 'global' }, limits: { controlPerMinute: 1e6, readPerMinute: 1e6 } } },
  );
  const { body: issued } = await exchangeKey(server, 'operator');
  const key = { 'X-RDCP-API-Key': KEYS.operator };

  /** Waits until the key itself shows the change. */
  const change = async (changes: Partial<ApiKeyRecord>, shows: (who: Record<string, unknown>) => boolean) => {
    write(changes);
    await until('the keys file is read', async () =>
      shows((await server.request<Record<string, unknown>>(PATHS.session, { headers: key })).body),
    );
  };
  const may = async () => ({
    status: (await server.request(PATHS.status, { headers: bearer(issued.access_token) })).status,
    control: (await server.request(PATHS.control, { ...CONTROL, headers: bearer(issued.access_token) })).status,
  });
  return { server, issued, change, may };
}

const hasScopes = (scopes: string) => (who: Record<string, unknown>) => String(who.scopes) === scopes;

test('a token may do no more than its key may now, and as much again when the key may', async (t) => {
  const { server, issued, change, may } = await withKey(t);
  assert.deepEqual(await may(), { status: 200, control: 200 });

  await change({ scopes: ['status'] }, hasScopes('status'));
  assert.deepEqual(await may(), { status: 200, control: 403 });
  assert.deepEqual((await session(server, issued.access_token)).body.scopes, ['status']);
  const wide = await refresh<{ error: string }>(server, issued.refresh_token, { scope: 'control' });
  assert.deepEqual([wide.status, wide.body.error], [400, 'invalid_scope']);
  const { body: next } = await refresh(server, issued.refresh_token);
  assert.equal(next.scope, 'status');

  await change({ scopes: ['discovery'] }, hasScopes('discovery'));
  assert.equal((await refresh(server, next.refresh_token)).status, 400, 'nothing is left of it');
  assert.deepEqual((await session(server, next.access_token)).body.scopes, []);

  await change({ scopes: ['admin'] }, hasScopes('admin'));
  assert.deepEqual(await may(), { status: 200, control: 200 });
  assert.equal((await refresh(server, next.refresh_token)).body.scope, 'status control');
});

test('a token of an administrator keeps what is left of its key', async (t) => {
  const { server, issued, change, may } = await withKey(t, ['admin']);
  await change({ scopes: ['status'] }, hasScopes('status'));
  assert.deepEqual(await may(), { status: 200, control: 403 });
  assert.equal((await refresh(server, issued.refresh_token)).body.scope, 'status');
});

const moves: [string, Partial<ApiKeyRecord>, (who: Record<string, unknown>) => boolean][] = [
  ['moved to a tenant', { tenantId: 'acme' }, ({ tenantId }) => tenantId === 'acme'],
  ['given to another user', { userId: 'ben' }, ({ userId }) => userId === 'ben'],
  ['expired', { expiresAt: '2020-01-01T00:00:00.000Z' }, ({ error }) => error !== undefined],
];
for (const [what, changes, shows] of moves) {
  test(`a key that was ${what} leaves no token behind`, async (t) => {
    const { server, issued, change, may } = await withKey(t);
    assert.deepEqual(await may(), { status: 200, control: 200 });
    await change(changes, shows);
    assert.deepEqual(await may(), { status: 401, control: 401 });
    const refused = await refresh<{ error: string }>(server, issued.refresh_token);
    assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant']);
  });
}

/** A file of signing keys, and the way to replace it. */
function signingKeys(t: TestContext) {
  const directory = newFolder(t);
  const signingKeyFile = join(directory, 'signing.pem');
  const kinds = {
    rsa: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ec: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ed25519: () => generateKeyPairSync('ed25519'),
  };
  const make = (kind: keyof typeof kinds) =>
    kinds[kind]().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { signingKeyFile, make, write: (...pems: string[]) => writeFileSync(signingKeyFile, pems.join('\n')) };
}

test('tokens can be verified with the published keys', async (t) => {
  const { signingKeyFile, make, write } = signingKeys(t);
  for (const [kind, alg] of [
    ['rsa', 'RS256'],
    ['ec', 'ES256'],
    ['ed25519', 'EdDSA'],
  ] as const) {
    write(make(kind));
    const { secret: _, ...settings } = tokenSettings;
    const server = await startTokenServer(t, { tokens: { ...settings, signingKeyFile } });
    const { body } = await exchangeKey(server, 'operator');
    assert.equal(decodeProtectedHeader(body.access_token).alg, alg);
    assert.equal((await session(server, body.access_token)).status, 200);
    const { status, text, body: set } = await server.request<JSONWebKeySet>(TOKEN_PATHS.jwks);
    assert.equal(status, 200);
    assert.equal(set.keys.length, 1);
    assert.ok(!/"(?:d|p|q|dp|dq|qi|k)":/.test(text), 'nothing private is published');
    const keys = createRemoteJWKSet(new URL(TOKEN_PATHS.jwks, server.url));
    const { payload } = await jwtVerify(body.access_token, keys, { issuer: settings.issuer, audience: 'rdcp' });
    assert.equal(payload.sub, 'operator-client');
    const { body: document } = await server.request<WellKnownDocument>('/.well-known/rdcp');
    assert.equal(document.otelrdcp_endpoints.jwks, TOKEN_PATHS.jwks);
    const { body: metadata } = await server.request<AuthorizationServerMetadata>(TOKEN_PATHS.metadata);
    assert.equal(metadata.jwks_uri, `https://service.example${TOKEN_PATHS.jwks}`);
  }
});

test('after the signing key was replaced new tokens have the new key, and old ones are good until they expire', async (t) => {
  const { signingKeyFile, make, write } = signingKeys(t);
  const [old, next] = [make('ec'), make('rsa')];
  write(old);
  const { secret: _, ...settings } = tokenSettings;
  const server = await startTokenServer(t, { tokens: { ...settings, signingKeyFile } });
  const { body: before } = await exchangeKey(server, 'operator');
  const { kid } = decodeProtectedHeader(before.access_token);
  write(next);
  const after = await until('another key signs', async () => {
    const { body } = await exchangeKey(server, 'operator');
    return decodeProtectedHeader(body.access_token).kid !== kid && body;
  });
  assert.equal((await session(server, before.access_token)).status, 200);
  assert.equal((await session(server, after.access_token)).status, 200);
  const { body: set } = await server.request<JSONWebKeySet>(TOKEN_PATHS.jwks);
  assert.deepEqual(
    set.keys.map((key) => key.alg),
    ['RS256', 'ES256'],
  );
});
