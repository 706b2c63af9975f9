import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRemoteJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { WellKnownDocument } from '../../src/wire/messages.ts';
import { exchangeKey, session, startTokenServer, tokenSettings } from './tokens.ts';

/** A file of signing keys, and the way to replace it. */
function signingKeys(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-signing-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const signingKeyFile = join(directory, 'signing.pem');
  const make = (kind: 'rsa' | 'ec' | 'ed25519') => {
    const { privateKey } =
      kind === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : kind === 'ec'
          ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
          : generateKeyPairSync('ed25519');
    return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  };
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
  const replacedAt = performance.now();
  let after = before;
  while (decodeProtectedHeader(after.access_token).kid === kid) {
    assert.ok(performance.now() - replacedAt < 30_000, 'still signed with the old key');
    ({ body: after } = await exchangeKey(server, 'operator'));
  }
  assert.equal((await session(server, before.access_token)).status, 200);
  assert.equal((await session(server, after.access_token)).status, 200);
  const { body: set } = await server.request<JSONWebKeySet>(TOKEN_PATHS.jwks);
  assert.deepEqual(
    set.keys.map((key) => key.alg),
    ['RS256', 'ES256'],
  );
});
