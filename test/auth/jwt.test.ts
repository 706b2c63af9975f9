import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { base64url, EncryptJWT } from 'jose';
import { createAuthenticator } from '../../src/access/authenticator.ts';
import { createJwtVerifier } from '../../src/access/jwt.ts';
import type { JwtIssuerOptions } from '../../src/options/options.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import fc from '../support/fast-check.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { failsWith, request } from './records.ts';
import { AUDIENCE, claims, ISSUER, makePair, SECRET, seconds, secretBytes, sign, stoppedClock } from './tokens.ts';

const shared: JwtIssuerOptions = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256'], secret: SECRET };
const verifier = (issuer: JwtIssuerOptions = shared, clock = stoppedClock()) =>
  createJwtVerifier({ issuers: [issuer], clock });
const verify = async (token: string, issuer?: JwtIssuerOptions) => verifier(issuer).verify(token);
const hs256 = (payload?: Record<string, unknown>, header: Record<string, unknown> = {}) =>
  sign(secretBytes(), { alg: 'HS256', ...header }, payload);

/** A token with any header and payload at all, signed with the right secret over exactly these parts. */
async function handmade(header: unknown, payload: unknown): Promise<string> {
  const { createHmac } = await import('node:crypto');
  const encode = (part: unknown) => base64url.encode(typeof part === 'string' ? part : JSON.stringify(part));
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`;
}

test('a token gives the principal of its claims, and our scopes alone', async () => {
  const payload = claims({
    client_id: 'dashboard',
    tenant_id: 'acme',
    scope: 'openid status control email',
    sid: 'session-1',
    jti: 'token-1',
  });
  assert.deepEqual(await verify(await hs256(payload)), {
    method: 'bearer',
    userId: 'ann',
    clientId: 'dashboard',
    tenantId: 'acme',
    scopes: ['status', 'control'],
    sessionId: 'session-1',
    expiresAt: seconds(300) * 1000,
  });
});

test('a token without tenant, client and scopes has none of them', async () => {
  assert.deepEqual(await verify(await hs256(claims({ scope: undefined }))), {
    method: 'bearer',
    userId: 'ann',
    scopes: [],
    expiresAt: seconds(300) * 1000,
  });
});

test('scopes may be a list, or stand in the claims that the issuer is configured with', async () => {
  const scopesOf = async (payload: object, issuer = shared) =>
    (await verify(await hs256(claims({ scope: undefined, ...payload })), issuer)).scopes;
  assert.deepEqual(await scopesOf({ scopes: ['admin', 'other'] }), ['admin']);
  assert.deepEqual(await scopesOf({ scope: ['admin'] }), ['admin']);
  assert.deepEqual(await scopesOf({ scope: 'status', scopes: ['admin'] }), ['status'], 'scope comes first');
  const custom = { ...shared, scopeClaim: 'scp', tenantClaim: 'https://example/org' };
  assert.deepEqual(await scopesOf({ scp: 'control', scopes: ['admin'] }, custom), ['control']);
  assert.deepEqual(await scopesOf({ scopes: ['admin'] }, custom), []);
  const principal = await verify(await hs256(claims({ 'https://example/org': 'acme', tenant_id: 'x' })), custom);
  assert.equal(principal.tenantId, 'acme');
});

test('a token may name the tenants of the configured claim, by default of the one that our own tokens have', async () => {
  const tenantsOf = async (payload: object, issuer = shared) =>
    (await verify(await hs256(claims({ tenant_id: undefined, ...payload })), issuer)).tenants;
  const list = ['acme', 'b*'];
  assert.deepEqual(await tenantsOf({ otelrdcp_tenants: list }), list);
  const custom = { ...shared, tenantsClaim: 'https://example/tenants' };
  assert.deepEqual(await tenantsOf({ 'https://example/tenants': ['*'], otelrdcp_tenants: list }, custom), ['*']);
  assert.equal(await tenantsOf({ otelrdcp_tenants: list }, custom), undefined);
  const refused = failsWith('RDCP_AUTH_FAILED', 'invalid_token');
  for (const malformed of [[], 'acme', ['a b'], ['*b'], ['acme', 1], null]) {
    await assert.rejects(tenantsOf({ otelrdcp_tenants: malformed }), refused, JSON.stringify(malformed));
  }
  await assert.rejects(
    tenantsOf({ otelrdcp_tenants: list, tenant_id: 'acme' }),
    refused,
    'of one tenant and of several',
  );
});

test('a token has the allow of its claim, within that of its issuer; a malformed one is refused', async () => {
  const DB = { categories: ['DB_*'], maxDuration: '15m' };
  const limitsOf = async (changes: object, options: Partial<JwtIssuerOptions> = {}) => {
    const { allow, approval } = await verify(await hs256(claims({ ...changes })), { ...shared, ...options });
    return [allow, approval];
  };
  const unlimited = [undefined, undefined];
  assert.deepEqual(await limitsOf({}), unlimited);
  assert.deepEqual(await limitsOf({ otelrdcp_approval: true }), unlimited);
  assert.deepEqual(await limitsOf({ otelrdcp_allow: DB }), [DB, false]);
  assert.deepEqual(await limitsOf({ otelrdcp_allow: DB, otelrdcp_approval: true }), [DB, true]);
  assert.deepEqual(await limitsOf({ may: DB, otelrdcp_allow: 'other' }, { allowClaim: 'may' }), [DB, false]);
  assert.deepEqual(await limitsOf({}, { allow: DB, approval: true }), [DB, true]);
  assert.deepEqual(await limitsOf({ otelrdcp_allow: { categories: ['*'], maxDuration: 60 } }, { allow: DB }), [
    { categories: ['DB_*'], maxDuration: 60 },
    false,
  ]);
  const refused = failsWith('RDCP_AUTH_FAILED', 'invalid_token');
  for (const malformed of [null, {}, 'DB_*', ['DB_*'], { categories: [] }, { ...DB, more: 1 }]) {
    await assert.rejects(limitsOf({ otelrdcp_allow: malformed }), refused, JSON.stringify(malformed));
  }
  await assert.rejects(limitsOf({ otelrdcp_allow: { categories: ['HTTP'] } }, { allow: DB }), refused);
});

for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'application/at+jwt', 'AT+JWT']) {
  test(`the type ${typ} is that of an access token`, async () => {
    assert.equal((await verify(await hs256(claims(), typ === undefined ? {} : { typ }))).userId, 'ann');
  });
}

for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
  test(`${alg} verifies with a public key, and no other algorithm does`, async () => {
    const pair = await makePair(alg);
    const issuer: JwtIssuerOptions = { issuer: ISSUER, audience: AUDIENCE, algorithms: [alg], publicKey: pair.pem };
    assert.equal((await verify(await sign(pair.privateKey, { alg }), issuer)).userId, 'ann');
    const stranger = await makePair(alg);
    await assert.rejects(
      verify(await sign(stranger.privateKey, { alg }), issuer),
      failsWith('RDCP_AUTH_FAILED', 'invalid_token'),
    );
    // The classic confusion: the public key, which everybody has, as the secret of an HMAC.
    const confused = await sign(new TextEncoder().encode(pair.pem), { alg: 'HS256' });
    await assert.rejects(verify(confused, issuer), failsWith('RDCP_AUTH_FAILED', 'invalid_token'));
  });
}

test('an audience among several is enough, on either side', async () => {
  const issuer = { ...shared, audience: ['other', AUDIENCE] };
  assert.equal((await verify(await hs256(claims({ aud: ['x', AUDIENCE] })), issuer)).userId, 'ann');
});

test('a token is good until its expiry and the tolerated difference of clocks', async () => {
  const clock = stoppedClock();
  const token = await hs256(claims({ exp: seconds(100) }));
  const jwt = verifier(shared, clock);
  assert.equal((await jwt.verify(token)).userId, 'ann');
  clock.advance(159_000);
  assert.equal((await jwt.verify(token)).userId, 'ann');
  clock.advance(1000);
  await assert.rejects(async () => jwt.verify(token), failsWith('RDCP_AUTH_FAILED', 'token_expired'));
  await assert.rejects(
    async () => verifier(shared, clock).verify(token),
    failsWith('RDCP_AUTH_FAILED', 'token_expired'),
  );
});

const huge = 'x'.repeat(9000);
const text64 = (value: object) => base64url.encode(JSON.stringify(value));
/** A token that is right but for its payload. */
const paying = (payload: unknown) => handmade({ alg: 'HS256' }, payload);
const encrypted = new EncryptJWT(claims()).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' });
const AS_JSON = '{"protected":"$1","payload":"$2","signature":"$3"}';
const attacks: [string, () => Promise<string>][] = [
  ['nothing', async () => ''],
  ['an opaque token', async () => 'opaque'],
  ['alg none', async () => `${base64url.encode('{"alg":"none"}')}.${base64url.encode(JSON.stringify(claims()))}.`],
  ['alg none with a signature', async () => (await hs256()).replace(/^[^.]+/, base64url.encode('{"alg":"none"}'))],
  ['alg NONE', async () => handmade({ alg: 'NONE' }, claims())],
  ['no alg', async () => handmade({}, claims())],
  ['an alg that is no string', async () => handmade({ alg: ['HS256'] }, claims())],
  ['HS512, which is not configured', async () => sign(randomBytes(64), { alg: 'HS512' })],
  ['another secret', async () => sign(secretBytes('another secret of 32 bytes or more'), { alg: 'HS256' })],
  ['an empty secret', async () => sign(new Uint8Array(32), { alg: 'HS256' })],
  ['no signature', async () => `${(await hs256()).split('.').slice(0, 2).join('.')}.`],
  ['a changed payload', async () => (await hs256()).replace(/\..*\./, `.${text64(claims({ scope: 'admin' }))}.`)],
  ['padding', async () => `${await hs256()}=`],
  ['a line end', async () => `${await hs256()}\n`],
  ['a fourth part', async () => `${await hs256()}.x`],
  ['an encrypted token', () => encrypted.encrypt(new Uint8Array(32))],
  ['the JSON serialization', async () => (await hs256()).replace(/^(.*)\.(.*)\.(.*)$/, AS_JSON)],
  ['a token over 8 KiB', async () => hs256(claims({ huge }))],
  ['no exp', async () => hs256(claims({ exp: undefined }))],
  ['exp as a string', async () => handmade({ alg: 'HS256' }, claims({ exp: String(seconds(300)) }))],
  ['exp as null', async () => handmade({ alg: 'HS256' }, claims({ exp: null }))],
  ['an infinite exp', () => paying(JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e999'))],
  ['an exp beyond the year 9999', async () => hs256(claims({ exp: 253_402_300_800 }))],
  ['nbf in the future', async () => hs256(claims({ nbf: seconds(61) }))],
  ['nbf as a string', async () => handmade({ alg: 'HS256' }, claims({ nbf: '0' }))],
  ['iat in the future', async () => hs256(claims({ iat: seconds(62) }))],
  ['iat as a string', async () => handmade({ alg: 'HS256' }, claims({ iat: 'now' }))],
  ['no sub', async () => hs256(claims({ sub: undefined }))],
  ['an empty sub', async () => hs256(claims({ sub: '' }))],
  ['a sub with a line separator', async () => hs256(claims({ sub: 'ann\u2028root' }))],
  ['a sub with a paragraph separator', async () => hs256(claims({ sub: 'ann\u2029root' }))],
  ['a sub with a C1 control character', async () => hs256(claims({ sub: 'ann\u009b31m' }))],
  ['a sub with a line end', async () => hs256(claims({ sub: 'ann\nroot' }))],
  ['a sub that is no string', async () => handmade({ alg: 'HS256' }, claims({ sub: { toString: 'ann' } }))],
  ['no iss', async () => hs256(claims({ iss: undefined }))],
  ['another iss', async () => hs256(claims({ iss: 'https://evil.example/' }))],
  ['an iss that only begins alike', async () => hs256(claims({ iss: `${ISSUER}x` }))],
  ['an iss with other capitals', async () => hs256(claims({ iss: ISSUER.toUpperCase() }))],
  ['an iss in a list', async () => handmade({ alg: 'HS256' }, claims({ iss: [ISSUER] }))],
  ['the name of an inherited property as iss', async () => hs256(claims({ iss: 'constructor' }))],
  ['no aud', async () => hs256(claims({ aud: undefined }))],
  ['another aud', async () => hs256(claims({ aud: 'billing' }))],
  ['an empty list of aud', async () => hs256(claims({ aud: [] }))],
  ['the type of an ID token', async () => hs256(claims(), { typ: 'id_token+jwt' })],
  ['the type of a logout token', async () => hs256(claims(), { typ: 'logout+jwt' })],
  ['a type that is no string', async () => handmade({ alg: 'HS256', typ: ['JWT'] }, claims())],
  ['a nonce, as ID tokens have', async () => hs256(claims({ nonce: 'n' }))],
  ['an at_hash, as ID tokens have', async () => hs256(claims({ at_hash: 'h' }))],
  ['a binding to a key', async () => hs256(claims({ cnf: { jkt: 'x' } }))],
  ['jku', async () => hs256(claims(), { jku: 'https://evil.example/keys' })],
  ['x5u', async () => hs256(claims(), { x5u: 'https://evil.example/cert' })],
  ['jwk', async () => hs256(claims(), { jwk: (await makePair('ES256')).jwk })],
  ['x5c', async () => hs256(claims(), { x5c: ['MIIB'] })],
  ['crit', async () => handmade({ alg: 'HS256', crit: ['exp'], exp: 0 }, claims())],
  ['b64 switched off', async () => handmade({ alg: 'HS256', b64: false, crit: ['b64'] }, claims())],
  ['a nested token', async () => hs256(claims(), { cty: 'JWT' })],
  ['a compressed token', async () => handmade({ alg: 'HS256', zip: 'DEF' }, claims())],
  ['a kid that is no string', async () => handmade({ alg: 'HS256', kid: 7 }, claims())],
  ['a kid of 300 characters', async () => hs256(claims(), { kid: 'k'.repeat(300) })],
  ['a kid with a line end', async () => hs256(claims(), { kid: '../../dev/null\n' })],
  ['an empty kid', async () => hs256(claims(), { kid: '' })],
  ['a tenant that is no Identifier', async () => hs256(claims({ tenant_id: 'a/b' }))],
  ['a tenant in a list', async () => handmade({ alg: 'HS256' }, claims({ tenant_id: ['acme'] }))],
  ['an empty tenant', async () => hs256(claims({ tenant_id: '' }))],
  ['a tenant that is null', async () => handmade({ alg: 'HS256' }, claims({ tenant_id: null }))],
  ['scopes that are no text', async () => handmade({ alg: 'HS256' }, claims({ scope: { admin: true } }))],
  ['scopes that are partly no text', async () => handmade({ alg: 'HS256' }, claims({ scope: ['admin', 1] }))],
  ['claims that are a list', async () => handmade({ alg: 'HS256' }, [claims()])],
  ['claims that are no JSON', async () => handmade({ alg: 'HS256' }, '{')],
  ['a header that is no JSON', async () => handmade('{', claims())],
];
for (const [what, make] of attacks) {
  test(`refused as invalid_token: ${what}`, async () => {
    const token = await make();
    await assert.rejects(verify(token), (error) => {
      assert.ok(failsWith('RDCP_AUTH_FAILED', 'invalid_token')(error) && isRdcpError(error), String(error));
      assert.equal(error.method, 'bearer');
      assert.equal(error.message, 'The token is not valid');
      assert.deepEqual(error.headers, { 'WWW-Authenticate': 'Bearer realm="rdcp", error="invalid_token"' });
      return true;
    });
  });
}

test('what the attacks start from is a good token', async () => {
  assert.equal((await verify(await handmade({ alg: 'HS256', kid: 'k1' }, claims()))).userId, 'ann');
  assert.equal((await verify(await hs256(claims({ nbf: seconds(60), iat: seconds(60) })))).userId, 'ann');
});

test('an expired token with a wrong signature, issuer or audience is not refused as merely expired', async () => {
  const exp = seconds(-3600);
  const wrong = [
    sign(secretBytes('another secret of 32 bytes or more'), { alg: 'HS256' }, claims({ exp })),
    hs256(claims({ exp, aud: 'billing' })),
    hs256(claims({ exp, iss: 'https://evil.example/' })),
  ];
  for (const token of wrong) await assert.rejects(verify(await token), failsWith('RDCP_AUTH_FAILED', 'invalid_token'));
  await assert.rejects(verify(await hs256(claims({ exp }))), failsWith('RDCP_AUTH_FAILED', 'token_expired'));
});

test('no change of a single character of a token is accepted', async () => {
  const token = await hs256();
  const jwt = verifier();
  await jwt.verify(token);
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: token.length - 1 }), fc.integer({ min: 0x20, max: 0x7e }), async (at, code) => {
      const changed = token.slice(0, at) + String.fromCharCode(code) + token.slice(at + 1);
      // The last character of a SHA-256 in base64url holds two bits that no byte has: decoders differ there.
      fc.pre(changed !== token && at !== token.length - 1);
      await assert.rejects(async () => jwt.verify(changed), failsWith('RDCP_AUTH_FAILED', 'invalid_token'));
    }),
    { numRuns: 300 },
  );
});

test('a verified token is verified again after five minutes, not before', async () => {
  const clock = stoppedClock();
  const jwt = verifier(shared, clock);
  const token = await hs256(claims({ exp: seconds(3600) }));
  const first = await jwt.verify(token);
  clock.advance(299_000);
  assert.equal(await jwt.verify(token), first);
  clock.advance(1000);
  const later = await jwt.verify(token);
  assert.notEqual(later, first);
  assert.deepEqual(later, first);
});

test('the memory for verified tokens is bounded', async () => {
  const jwt = createJwtVerifier({ issuers: [shared], clock: stoppedClock(), cacheSize: 2 });
  const token = await hs256(claims({ sub: 'a' }));
  const first = await jwt.verify(token);
  // One after the other: verifications that run side by side end in any order, and the last to end stays.
  for (const sub of ['b', 'c']) await jwt.verify(await hs256(claims({ sub })));
  assert.notEqual(await jwt.verify(token), first);
});

const rsaPem = (bits: number) =>
  generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ type: 'spki', format: 'pem' }).toString();
const privatePem = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const base = { issuer: ISSUER, audience: AUDIENCE };
const by = (algorithm: JwtIssuerOptions['algorithms'][number], key: Partial<JwtIssuerOptions>) => [
  { ...base, algorithms: [algorithm], ...key },
];
const misconfigured: [string, () => JwtIssuerOptions[], RegExp][] = [
  ['no key', () => by('HS256', {}), /security\.jwt must hold one of/],
  ['two kinds of key', () => [{ ...shared, publicKey: rsaPem(2048) }], /security\.jwt must hold one of/],
  ['HS256 beside RS256', () => [{ ...shared, algorithms: ['HS256', 'RS256'] }], /algorithms must not hold RS256/],
  ['HS256 with a public key', () => by('HS256', { publicKey: rsaPem(2048) }), /must not hold HS256/],
  ['HS256 with a key set', () => by('HS256', { jwksUri: 'https://id/' }), /must not hold HS256/],
  ['a short secret', () => by('HS256', { secret: 'short secret' }), /jwt\.secret must hold at least 32 bytes/],
  ['a short RSA key', () => by('RS256', { publicKey: rsaPem(1024) }), /at least 2048 bits/],
  ['an RSA key for ES256', () => by('ES256', { publicKey: rsaPem(2048) }), /a key for ES256/],
  ['a private key', () => by('ES256', { publicKey: privatePem() }), /not a private one/],
  ['text that is no key', () => by('ES256', { publicKey: 'key' }), /in PEM form/],
  ['a key set over plain HTTP', () => by('RS256', { jwksUri: 'http://id.example/' }), /an https URL/],
  ['a key set in a file', () => by('RS256', { jwksUri: 'file:///keys' }), /an https URL/],
  ['one issuer twice', () => [shared, shared], /security\.jwt\.1\.issuer is used by an earlier issuer/],
];
for (const [what, issuers, message] of misconfigured) {
  test(`a configuration with ${what} is refused by one line without the secret`, () => {
    assert.throws(
      () => createJwtVerifier({ issuers: issuers(), clock: stoppedClock() }),
      (error) =>
        failsWith('RDCP_CONFIG_INVALID')(error) &&
        message.test((error as Error).message) &&
        !/\n|short secret|BEGIN/.test((error as Error).message),
    );
  });
}

test('a wrong issuer leaves no timer of those before it', () => {
  const time = virtualTime();
  const published: JwtIssuerOptions = { ...base, algorithms: ['RS256'], jwksUri: 'https://id.example/' };
  const issuers = [published, shared];
  assert.throws(
    () => createJwtVerifier({ issuers, clock: time.clock, delay: time.delay }),
    failsWith('RDCP_CONFIG_INVALID'),
  );
  assert.equal(time.pending, 0);
});

test('tokens of several issuers are each checked by their own rules', async () => {
  const pair = await makePair('ES256');
  const second: JwtIssuerOptions = {
    issuer: 'https://two/',
    audience: 'two',
    algorithms: ['ES256'],
    publicKey: pair.pem,
  };
  const jwt = createJwtVerifier({ issuers: [shared, second], clock: stoppedClock() });
  const two = (alg: string, key = pair.privateKey) => sign(key, { alg }, claims({ iss: 'https://two/', aud: 'two' }));
  assert.equal((await jwt.verify(await two('ES256'))).userId, 'ann');
  const crossed = await sign(secretBytes(), { alg: 'HS256' }, claims({ iss: 'https://two/', aud: 'two' }));
  await assert.rejects(async () => jwt.verify(crossed), failsWith('RDCP_AUTH_FAILED', 'invalid_token'));
});

test('a token arrives in the Authorization header, whatever the case of its scheme', async () => {
  const auth = createAuthenticator({ bearer: verifier() });
  assert.deepEqual(auth.methods, ['bearer']);
  const token = await hs256();
  for (const authorization of [`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token}`]) {
    assert.equal((await auth.authenticate(request({ authorization })))?.userId, 'ann');
  }
  const named = (method: string) =>
    auth.authenticate(request({ authorization: `Bearer ${token}`, 'X-RDCP-Auth-Method': method }));
  assert.equal((await named('bearer'))?.userId, 'ann');
  await assert.rejects(named('api-key'), failsWith('RDCP_AUTH_FAILED', 'method_mismatch'));
  await assert.rejects(named('hybrid'), failsWith('RDCP_AUTH_FAILED', 'method_mismatch'));
  await assert.rejects(
    auth.authenticate(request({ authorization: 'Bearer' })),
    failsWith('RDCP_AUTH_FAILED', 'invalid_token'),
  );
});
