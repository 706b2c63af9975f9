import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { calculateJwkThumbprint } from 'jose';
import type { Principal } from '../../src/access/principal.ts';
import { hasScope } from '../../src/access/principal.ts';
import { newRefreshToken, parseRefreshToken, wasIssued } from '../../src/access/tokens/sessions.ts';
import { parseSigningKeys } from '../../src/access/tokens/signing-keys.ts';
import { clientCredentials, readParameters, requestedScopes } from '../../src/access/tokens/token-call.ts';
import { SCOPES } from '../../src/wire/constants.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import fc from '../support/fast-check.ts';
import { inBoth, runs } from '../support/tiers.ts';
import { failsWith } from './records.ts';

const pem = (key: KeyObject, type: 'pkcs8' | 'sec1' | 'pkcs1' = 'pkcs8') =>
  key.export({ type, format: 'pem' } as never).toString();
const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ed25519 = generateKeyPairSync('ed25519').privateKey;

inBoth('client credentials come through Basic whatever is in them', () => {
  const text = fc.string({ minLength: 1, unit: 'binary' });
  fc.assert(
    fc.property(text, text, (id, secret) => {
      const encode = (half: string) => new URLSearchParams([['', half]]).toString().slice(1);
      const header = `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`;
      const wellFormed = (value: string) => value.toWellFormed();
      assert.deepEqual(clientCredentials(new Map(), header), { id: wellFormed(id), secret: wellFormed(secret) });
    }),
    { numRuns: runs(100) },
  );
});

test('requested scopes are some of ours that the credential has, or it is refused', () => {
  const names = fc.array(fc.oneof(fc.constantFrom(...SCOPES), fc.constantFrom('', 'root', 'STATUS', 'status,control')));
  fc.assert(
    fc.property(names, fc.subarray([...SCOPES]), (asked, held) => {
      const principal: Principal = { method: 'bearer', userId: 'ann', scopes: held };
      const parameters = readParameters([['scope', asked.join(' ')]]);
      try {
        const scopes = requestedScopes(parameters, principal);
        assert.ok(scopes.every((scope) => hasScope(principal, scope)));
        if (parameters.size > 0) assert.deepEqual(new Set(scopes), new Set(asked));
        else assert.deepEqual(scopes, held);
      } catch (error) {
        assert.ok(isRdcpError(error));
        const known = asked.every((name) => SCOPES.some((scope) => scope === name));
        assert.equal(error.code, known ? 'RDCP_FORBIDDEN' : 'RDCP_MALFORMED_REQUEST');
      }
    }),
  );
});

test('a refresh token is distinguished from every text that was not issued for its session', () => {
  const [key, other] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')];
  const { token, hash } = newRefreshToken('session.child', key, randomBytes);
  const parsed = parseRefreshToken(token);
  assert.ok(parsed);
  assert.deepEqual([parsed.sessionId, parsed.hash], ['session.child', hash]);
  assert.equal(wasIssued(parsed, key), true);
  assert.equal(wasIssued(parsed, other), false);
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.constantFrom(...'AZaz09_-.~ é'), (place, character) => {
      if (token[place] === character) return;
      const changed = parseRefreshToken(token.slice(0, place) + character + token.slice(place + 1));
      // The session is a name, not a part of the secret: its own key decides.
      if (changed === undefined || changed.sessionId !== 'session.child') return;
      assert.equal(wasIssued(changed, key), false);
    }),
    { numRuns: 1000 },
  );
});

test('signing keys are read from PEM in any form and from a JWK Set, in order, by their RFC 7638 thumbprint', async () => {
  const p256 = ec();
  const forms = [
    [pem(rsa), pem(p256, 'sec1'), pem(ed25519)].join('\n'),
    `comment\n${pem(rsa, 'pkcs1')}${pem(p256)}${pem(ed25519)}`,
    JSON.stringify({ keys: [rsa, p256, ed25519].map((key) => ({ ...key.export({ format: 'jwk' }), kid: 'mine' })) }),
  ];
  const expected = await Promise.all(
    [rsa, p256, ed25519].map((key) => calculateJwkThumbprint(key.export({ format: 'jwk' }) as never)),
  );
  for (const text of forms) {
    const keys = parseSigningKeys(text, 'signing key file x');
    assert.deepEqual(
      keys.map(({ algorithm }) => algorithm),
      ['RS256', 'ES256', 'EdDSA'],
    );
    assert.deepEqual(
      keys.map(({ id }) => id),
      expected,
    );
    for (const { jwk } of keys) {
      assert.equal(jwk.use, 'sig');
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) assert.equal(secret in jwk, false);
    }
  }
});

test('a file that holds no usable key is refused by one line that shows nothing of it', () => {
  const p256 = ec();
  const publicPem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
    type: 'spki',
    format: 'pem',
  });
  const files: [string, RegExp][] = [
    ['', /must hold at least one private key/],
    [publicPem.toString(), /must hold at least one private key/],
    ['{}', /must hold at least one private key/],
    ['{"keys":[]}', /must hold at least one private key/],
    ['{"keys":', /must hold only unencrypted private keys/],
    ['{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', /must hold only unencrypted private keys/],
    [pem(p256).replace(/[A-Za-z]/g, 'A'), /must hold at least one private key|must hold only unencrypted private keys/],
    [
      p256.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }).toString(),
      /must hold only unencrypted private keys/,
    ],
    [pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey), /key 1 must have at least 2048 bits/],
    [
      pem(p256) + pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey),
      /key 2 must be RSA, P-256 or Ed25519/,
    ],
    [pem(generateKeyPairSync('x25519').privateKey), /must be RSA, P-256 or Ed25519/],
    [pem(p256) + pem(p256), /must not hold a key twice/],
  ];
  for (const [text, expected] of files) {
    assert.throws(
      () => parseSigningKeys(text, 'signing key file x'),
      (error) => {
        assert.ok(failsWith('RDCP_CONFIG_INVALID')(error) && error instanceof Error);
        assert.match(error.message, expected);
        assert.ok(!/[\n]|[A-Za-z0-9+/]{40}/.test(error.message));
        return true;
      },
    );
  }
});
