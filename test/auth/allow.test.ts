import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApiKeyVerifier, fixedKeys, parseKeysFile } from '../../src/access/api-keys.ts';
import { createJwtVerifier } from '../../src/access/jwt.ts';
import { createCertificateVerifier } from '../../src/access/mtls.ts';
import type { JwtIssuerOptions } from '../../src/options/options.ts';
import { DURING, manyNames } from './certificates.ts';
import { failsWith, makeKey } from './records.ts';
import { AUDIENCE, claims, ISSUER, NOW, SECRET, secretBytes, sign } from './tokens.ts';

const DB = { categories: ['DB_*'], maxDuration: '15m' };
const at = (now: number) => ({ now: () => now, monotonic: () => 0 });

test('a key has the allow of its record', async () => {
  const { key, record } = makeKey({ allow: DB, approval: true });
  const principal = await createApiKeyVerifier({ keys: fixedKeys([record]), clock: at(NOW) }).verify(key);
  assert.deepEqual([principal.allow, principal.approval], [DB, true]);
});

test('a record whose allow is empty is refused, and named', () => {
  const { record } = makeKey();
  for (const [allow, field, problem] of [
    [{}, 'keys.0.allow.categories', 'is required'],
    [{ categories: [] }, 'keys.0.allow.categories', 'must hold at least one category'],
    [{ ...DB, tenant: 'acme' }, 'keys.0.allow.tenant', 'is not a known field'],
  ] as const) {
    assert.throws(
      () => parseKeysFile(JSON.stringify({ keys: [{ ...record, allow }] }), 'keys.json'),
      (error: Error & { details?: { field?: string } }) =>
        error.details?.field === field && error.message.includes(problem),
      JSON.stringify(allow),
    );
  }
});

test('the identity of a certificate has its allow', () => {
  const identity = { san: 'ops.example', userId: 'robot', scopes: ['control'] as const, allow: DB, approval: true };
  const { identity: principal } = createCertificateVerifier([identity], at(DURING)).verify(manyNames);
  assert.deepEqual([principal?.allow, principal?.approval], [DB, true]);
});

test('a token has the allow of its claim, within that of its issuer; a malformed one is refused', async () => {
  const issuer: JwtIssuerOptions = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256'], secret: SECRET };
  const limitsOf = async (changes: object, options: Partial<JwtIssuerOptions> = {}) => {
    const verifier = createJwtVerifier({ issuers: [{ ...issuer, ...options }], clock: at(NOW) });
    const token = await sign(secretBytes(), { alg: 'HS256' }, claims({ ...changes }));
    const { allow, approval } = await verifier.verify(token);
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
