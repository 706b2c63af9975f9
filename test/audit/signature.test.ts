import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { createSigner, parsePublicKeys } from '../../src/trail/signature.ts';
import { isRdcpError } from '../../src/wire/errors.ts';

const PEM = { type: 'spki', format: 'pem' } as const;
const PKCS8 = { type: 'pkcs8', format: 'pem' } as const;
const ed25519 = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicText = ed25519.publicKey.export(PEM).toString();

test('a signature is right for its hash alone, and unknown for a key that is not given', () => {
  const signature = createSigner(ed25519.privateKey.export(PKCS8).toString(), 'key')('a1');
  const keys = parsePublicKeys(`# of today\n${publicText}`);
  assert.equal(keys?.check('a1', signature), 'right');
  assert.equal(keys?.check('a2', signature), 'wrong');
  assert.equal(keys?.check('a1', { ...signature, keyId: 'else' }), 'unknown');
});

test('a file that is no private Ed25519 key is refused without a word of it', () => {
  for (const text of ['secret words', other.privateKey.export(PKCS8).toString()]) {
    assert.throws(
      () => createSigner(text, 'k.pem'),
      (error) => isRdcpError(error) && /^k\.pem must hold an unencrypted Ed25519/.test(error.message),
    );
  }
});

test('public keys of another kind, broken ones and none at all are no keys', () => {
  const broken = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----';
  for (const text of ['', other.publicKey.export(PEM).toString(), `${publicText}${broken}`]) {
    assert.equal(parsePublicKeys(text), undefined);
  }
});
