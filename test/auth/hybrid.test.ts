import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { createApiKeyVerifier, fixedKeys } from '../../src/access/api-keys.ts';
import {
  type ClientCertificate,
  type CredentialRequest,
  combine,
  createAuthenticator,
} from '../../src/access/authenticator.ts';
import { createJwtVerifier } from '../../src/access/jwt.ts';
import { createCertificateVerifier } from '../../src/access/mtls.ts';
import { hasScope, type Principal } from '../../src/access/principal.ts';
import { SCOPES } from '../../src/wire/constants.ts';
import fc from '../support/fast-check.ts';
import { DURING, manyNames, noSubject } from './certificates.ts';
import { failsWith, makeKey, request } from './records.ts';
import { AUDIENCE, claims, ISSUER, SECRET, secretBytes, sign } from './tokens.ts';

const clock = { now: () => DURING, monotonic: () => 0 };
const { key, record } = makeKey({ scopes: ['admin'] });
const MAPPED = [{ san: 'ops.example', userId: 'robot', tenantId: 'robots', scopes: ['status', 'control'] as const }];
const thumbprint = (shown: ClientCertificate) => hash('sha256', shown.certificate.raw, 'base64url');

function authenticator({ level = 'standard', certificates = true } = {}) {
  return createAuthenticator({
    apiKey: createApiKeyVerifier({ keys: fixedKeys([record]), clock }),
    bearer: createJwtVerifier({
      issuers: [{ issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256'], secret: SECRET }],
      clock,
    }),
    certificate: certificates ? createCertificateVerifier(MAPPED, clock) : undefined,
    certificateRequired: level === 'enterprise',
  });
}

async function tokenRequest(
  changes: Record<string, unknown> = {},
  clientCertificate?: ClientCertificate,
  headers: Record<string, string> = {},
): Promise<CredentialRequest> {
  const lasting = { exp: DURING / 1000 + 300, iat: undefined, ...changes };
  const token = await sign(secretBytes(), { alg: 'HS256' }, claims(lasting));
  return { ...request({ authorization: `Bearer ${token}`, ...headers }), clientCertificate };
}

const withCertificate = (clientCertificate?: ClientCertificate, headers: Record<string, string> = {}) => ({
  ...request(headers),
  clientCertificate,
});

test('certificate and token: user and tenant are the token’s, scopes those that both allow', async () => {
  const both = await tokenRequest({ scope: 'control admin', tenant_id: 'acme', client_id: 'console' }, manyNames);
  for (const level of ['standard', 'enterprise']) {
    const principal = await authenticator({ level }).authenticate(both);
    assert.equal(principal?.method, 'hybrid');
    assert.deepEqual([principal?.userId, principal?.tenantId, principal?.clientId], ['ann', 'acme', 'console']);
    assert.deepEqual(principal?.scopes, ['status', 'control']);
  }
});

test('the pair has the tenants and the limits that both halves have', () => {
  const half = (limits: Partial<Principal>): Principal => ({
    method: 'bearer',
    userId: 'ann',
    scopes: ['admin'],
    ...limits,
  });
  const pair = (token: Partial<Principal>, identity: Partial<Principal>) => combine(half(token), half(identity));
  assert.deepEqual(pair({ tenants: ['acme', 'b*', 'c*'] }, { tenants: ['acm', 'bravo', 'c*'] }).tenants, [
    'c*',
    'bravo',
  ]);
  assert.deepEqual(pair({ tenants: ['acme'] }, {}).tenants, ['acme']);
  assert.deepEqual(pair({}, { tenants: ['acme'] }).tenants, ['acme']);
  assert.equal('tenants' in pair({}, {}), false);
  const refused = failsWith('RDCP_AUTH_FAILED', 'invalid_token');
  assert.throws(() => pair({ tenants: ['acme'] }, { tenants: ['bravo'] }), refused);
  assert.throws(() => pair({ tenantId: 'acme' }, { tenants: ['bravo'] }), refused);
  const { tenantId, tenants } = pair({ tenantId: 'bravo' }, { tenants: ['b*'] });
  assert.deepEqual([tenantId, tenants], ['bravo', undefined]);

  const allow = { categories: ['DB_*'], maxDuration: '15m' };
  assert.deepEqual(pair({ allow }, { allow: { categories: ['DB_POOL', 'HTTP'] } }).allow, {
    categories: ['DB_POOL'],
    maxDuration: '15m',
  });
  assert.deepEqual([pair({ allow }, {}).allow, pair({}, { allow }).allow], [allow, allow]);
  assert.equal(pair({ allow, approval: true }, { allow }).approval, false);
  assert.throws(() => pair({ allow }, { allow: { categories: ['HTTP'] } }), refused);
});

test('the pair never allows more than either half', () => {
  const scopes = fc.subarray([...SCOPES]);
  fc.assert(
    fc.property(scopes, scopes, fc.option(fc.nat()), fc.option(fc.nat()), (ofToken, ofIdentity, tokenEnd, end) => {
      const half = (half: readonly (typeof SCOPES)[number][], expiresAt: number | null): Principal => ({
        method: 'bearer',
        userId: 'ann',
        scopes: half,
        ...(expiresAt !== null && { expiresAt }),
      });
      const [token, identity] = [half(ofToken, tokenEnd), half(ofIdentity, end)];
      const pair = combine(token, identity);
      for (const scope of SCOPES) {
        assert.equal(hasScope(pair, scope), hasScope(token, scope) && hasScope(identity, scope), scope);
      }
      assert.equal(
        pair.expiresAt ?? Number.POSITIVE_INFINITY,
        Math.min(tokenEnd ?? Number.POSITIVE_INFINITY, end ?? Number.POSITIVE_INFINITY),
      );
    }),
  );
});

test('at level enterprise an API key or a token alone is not enough', async () => {
  const auth = authenticator({ level: 'enterprise' });
  const refused = failsWith('RDCP_AUTH_FAILED', 'invalid_certificate');
  await assert.rejects(auth.authenticate(await tokenRequest()), refused);
  await assert.rejects(auth.authenticate(request({ 'x-rdcp-api-key': key })), refused);
  await assert.rejects(auth.authenticate(withCertificate(noSubject, { 'x-rdcp-api-key': key })), refused);
  assert.equal(await auth.authenticate(request({})), undefined);
  assert.deepEqual(auth.methods, ['bearer', 'mtls']);
});

test('a certificate that is not valid is refused, whatever comes with it', async () => {
  const bad = { ...manyNames, authorized: false };
  const refused = failsWith('RDCP_AUTH_FAILED', 'invalid_certificate');
  for (const level of ['standard', 'enterprise']) {
    const auth = authenticator({ level });
    await assert.rejects(auth.authenticate(withCertificate(bad)), refused);
    await assert.rejects(auth.authenticate(withCertificate(bad, { 'x-rdcp-api-key': key })), refused);
    await assert.rejects(auth.authenticate(await tokenRequest({}, bad)), refused);
  }
});

test('where certificates are no credentials one only guards its connection', async () => {
  const auth = authenticator({ certificates: false });
  assert.equal(await auth.authenticate(withCertificate(manyNames)), undefined);
  assert.equal((await auth.authenticate(await tokenRequest({}, manyNames)))?.method, 'bearer');
  assert.deepEqual(auth.methods, ['api-key', 'bearer']);
});

test('a token bound to a certificate is good with that certificate alone', async () => {
  const cnf = { 'x5t#S256': thumbprint(manyNames) };
  const refused = failsWith('RDCP_AUTH_FAILED', 'invalid_token');
  for (const options of [{}, { certificates: false }, { level: 'enterprise' }]) {
    const auth = authenticator(options);
    assert.equal((await auth.authenticate(await tokenRequest({ cnf }, manyNames)))?.userId, 'ann');
    await assert.rejects(auth.authenticate(await tokenRequest({ cnf }, noSubject)), refused);
  }
  await assert.rejects(authenticator().authenticate(await tokenRequest({ cnf })), refused);
  const unverified = await tokenRequest({ cnf }, { ...manyNames, authorized: false });
  await assert.rejects(authenticator({ certificates: false }).authenticate(unverified), refused);
  // Remembered as good, and judged by the connection all the same.
  const auth = authenticator();
  const good = await tokenRequest({ cnf }, manyNames);
  await auth.authenticate(good);
  await assert.rejects(auth.authenticate({ ...good, clientCertificate: undefined }), refused);
});

test('a token bound to something else, or in a way that is malformed, is refused', async () => {
  const bindings = [
    {},
    null,
    'x',
    [],
    { jkt: 'x' },
    { jwk: {} },
    { 'x5t#S256': '' },
    { 'x5t#S256': 7 },
    { 'x5t#S256': thumbprint(manyNames), jkt: 'x' },
    { 'x5t#S256': `${thumbprint(manyNames)}=` },
  ];
  for (const cnf of bindings) {
    await assert.rejects(
      authenticator().authenticate(await tokenRequest({ cnf }, manyNames)),
      failsWith('RDCP_AUTH_FAILED', 'invalid_token'),
      JSON.stringify(cnf),
    );
  }
});

test('the method that a request names must be that of its credentials', async () => {
  const auth = authenticator();
  const named = (method: string) => ({ 'x-rdcp-auth-method': method });
  const mismatch = failsWith('RDCP_AUTH_FAILED', 'method_mismatch');
  for (const method of ['bearer', 'hybrid']) {
    const pair = await tokenRequest({}, manyNames, named(method));
    assert.equal((await auth.authenticate(pair))?.method, 'hybrid');
  }
  for (const method of ['mtls', 'api-key', 'none']) {
    await assert.rejects(auth.authenticate(await tokenRequest({}, manyNames, named(method))), mismatch);
  }
  assert.equal((await auth.authenticate(withCertificate(manyNames, named('mtls'))))?.method, 'mtls');
  for (const method of ['hybrid', 'bearer', 'api-key']) {
    await assert.rejects(auth.authenticate(withCertificate(manyNames, named(method))), mismatch);
  }
  for (const method of ['hybrid', 'mtls']) {
    await assert.rejects(auth.authenticate(await tokenRequest({}, undefined, named(method))), mismatch);
  }
});

test('a bad token beside a certificate is refused as half of a pair', async () => {
  const expired = await tokenRequest({ exp: DURING / 1000 - 600 }, manyNames);
  await assert.rejects(authenticator().authenticate(expired), (error: Error & { method?: string }) => {
    assert.equal(error.method, 'hybrid');
    return failsWith('RDCP_AUTH_FAILED', 'token_expired')(error);
  });
});
