import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { createCertificateVerifier } from '../../src/access/mtls.ts';
import type { CertificateIdentity } from '../../src/options/options.ts';
import { DURING, manyNames, noSubject } from './certificates.ts';
import { failsWith } from './records.ts';

const at = (now: number) => ({ now: () => now });
const ops = { userId: 'ops', scopes: ['status'] as const };
const digest = hash('sha256', manyNames.certificate.raw, 'hex');

function identify(identities: readonly CertificateIdentity[], shown = manyNames) {
  return createCertificateVerifier(identities, at(DURING)).verify(shown).identity?.userId;
}

test('a mapped certificate is the identity of its mapping, until it expires', () => {
  const limits = { tenantId: 'acme', allow: { categories: ['DB_*'], maxDuration: '15m' }, approval: true };
  const verifier = createCertificateVerifier(
    [{ subject: 'CN=öps,O=Acme\\, Inc \\+ y=z,C=US', userId: 'ops', ...limits, scopes: ['status', 'status'] }],
    at(DURING),
  );
  const { identity } = verifier.verify(manyNames);
  assert.deepEqual(identity, {
    method: 'mtls',
    userId: 'ops',
    clientId: 'ops',
    ...limits,
    scopes: ['status'],
    expiresAt: manyNames.certificate.validToDate.getTime(),
  });
});

const KNOWN: [string, Partial<CertificateIdentity>][] = [
  ['its fingerprint', { fingerprint256: digest }],
  ['its fingerprint in capitals', { fingerprint256: digest.toUpperCase() }],
  [
    'its fingerprint with colons, as Node and openssl write it',
    { fingerprint256: manyNames.certificate.fingerprint256 },
  ],
  ['a DNS name', { san: 'DNS:ops.example' }],
  ['a DNS name without its type, in any case', { san: 'OPS.example' }],
  ['a URI', { san: 'URI:spiffe://acme/ops' }],
  ['a URI without its type', { san: 'spiffe://acme/ops' }],
  ['an email address', { san: 'email:ops@acme.example' }],
  ['an email address without its type', { san: 'ops@acme.example' }],
  ['an IPv4 address', { san: 'IP:10.0.0.1' }],
  ['an IPv6 address in another spelling', { san: 'IP Address:2001:0db8::0:1' }],
  ['an IPv6 address without its type', { san: '2001:db8::1' }],
  ['its subject as RFC 4514 writes it', { subject: 'CN=öps,O=Acme\\, Inc \\+ y=z,C=US' }],
  ['its subject from the other end, with spaces and small letters', { subject: 'c=US, o=Acme\\, Inc \\+ y=z, cn=öps' }],
  ['its subject as Node writes it', { subject: manyNames.certificate.subject }],
  ['a name that holds a comma, as a whole', { san: 'DNS:evil, DNS:admin.example' }],
];
const UNKNOWN: [string, Partial<CertificateIdentity>][] = [
  ['a part of its subject', { subject: 'CN=öps' }],
  ['its subject in another order', { subject: 'O=Acme\\, Inc \\+ y=z,CN=öps,C=US' }],
  ['its subject with more', { subject: 'CN=öps,O=Acme\\, Inc \\+ y=z,C=US,L=X' }],
  ['its subject in other letters', { subject: 'CN=ÖPS,O=Acme\\, Inc \\+ y=z,C=US' }],
  ['a name hidden in another', { san: 'DNS:admin.example' }],
  ['a URI hidden in another', { san: 'URI:spiffe://acme/admin' }],
  ['the beginning of a URI', { san: 'URI:spiffe://acme' }],
  ['a URI in other letters', { san: 'URI:spiffe://ACME/ops' }],
  ['a parent domain', { san: 'DNS:example' }],
  ['a pattern', { san: 'DNS:*.example' }],
  ['a DNS name as a URI', { san: 'URI:Ops.Example' }],
  ['another fingerprint', { fingerprint256: 'a'.repeat(64) }],
];
for (const [names, found] of [
  [KNOWN, 'ops'],
  [UNKNOWN, undefined],
] as const) {
  for (const [what, name] of names) {
    test(`a certificate is ${found === undefined ? 'not ' : ''}known by ${what}`, () => {
      assert.equal(identify([{ ...ops, ...name }]), found);
    });
  }
}

test('the fingerprint says more than a name, and a name more than the subject', () => {
  const bySubject = { ...ops, userId: 'by-subject', subject: manyNames.certificate.subject };
  const byName = { ...ops, userId: 'by-name', san: 'ops.example' };
  const byFingerprint = { ...ops, userId: 'by-fingerprint', fingerprint256: digest };
  assert.equal(identify([bySubject, byName, byFingerprint]), 'by-fingerprint');
  assert.equal(identify([bySubject, byName]), 'by-name');
});

test('a certificate without a subject is known by its name alone', () => {
  assert.equal(identify([{ ...ops, subject: 'CN=nobody' }], noSubject), undefined);
  assert.equal(identify([{ ...ops, subject: '=' }], noSubject), undefined);
  assert.equal(identify([{ ...ops, san: 'nobody.example' }], noSubject), 'ops');
});

test('a certificate ends with its time although the connection goes on', () => {
  const { validFromDate, validToDate } = manyNames.certificate;
  let now = validToDate.getTime() - 1;
  const verifier = createCertificateVerifier([{ ...ops, fingerprint256: digest }], { now: () => now });
  assert.equal(verifier.verify(manyNames).identity?.userId, 'ops');
  for (now of [validToDate.getTime(), validFromDate.getTime() - 1]) {
    assert.throws(() => verifier.verify(manyNames), failsWith('RDCP_AUTH_FAILED', 'invalid_certificate'));
  }
});

test('identities that match the same certificate are a wrong configuration', () => {
  const same: Partial<CertificateIdentity>[][] = [
    [{ san: 'a.example' }, { san: 'DNS:A.example' }],
    [{ fingerprint256: digest }, { fingerprint256: manyNames.certificate.fingerprint256 }],
    [{ subject: 'CN=a,O=b' }, { subject: 'cn=a, o=b' }],
  ];
  for (const names of same) {
    const identities = names.map((name) => ({ ...ops, ...name }));
    assert.throws(() => createCertificateVerifier(identities, at(DURING)), failsWith('RDCP_CONFIG_INVALID'));
  }
});
