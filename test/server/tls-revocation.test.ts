import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { issuedAs, parseRevocationList, subjectOf } from '../../src/server/tls-revocation.ts';
import { pemBlocks } from '../../src/server/tls-trust.ts';
import { createAuthority } from '../support/certificate.ts';

const authority = createAuthority('Authority');

function bytesOf(pem: string): Buffer {
  return Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
}

test('a list names its authority, what is revoked, and when it is out of date', () => {
  const nextUpdate = Date.UTC(2049, 11, 31, 23, 59, 58);
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 0x7fff }), { maxLength: 50 }), (serials) => {
      const list = parseRevocationList(bytesOf(authority.revocationList(serials, nextUpdate)));
      assert.deepEqual(
        [...list.serials].map((serial) => Number.parseInt(serial, 16)),
        serials,
      );
      assert.equal(list.issuer, subjectOf(new X509Certificate(authority.cert)));
      assert.equal(list.nextUpdate, nextUpdate);
    }),
  );
});

test('a certificate is found by the number and the authority that its list knows it by', () => {
  const { cert, serial } = authority.issue('client');
  const list = parseRevocationList(bytesOf(authority.revocationList([serial])));
  const issued = issuedAs(new X509Certificate(cert));
  assert.equal(issued.issuer, list.issuer);
  assert.ok(list.serials.has(issued.serial));
  assert.ok(!list.serials.has(issuedAs(new X509Certificate(authority.issue('other').cert)).serial));
});

// Made with: openssl ca -gencrl -crldays 30, after two certificates were revoked.
const BY_OPENSSL = `-----BEGIN X509 CRL-----
MIIB7TCB1gIBATANBgkqhkiG9w0BAQsFADAnMRAwDgYDVQQKDAdFeGFtcGxlMRMw
EQYDVQQDDApFeGFtcGxlIENBFw0yNjExMjEwNTMxMDVaFw0yNjEyMjEwNTMxMDVa
MEowIQICEAAXDTI2MTEyMTAwMDAwMFowDDAKBgNVHRUEAwoBATAlAhR/ASNFZ4mr
ze8BI0VniavN7wEjRRcNMjYxMTIxMDAwMDAwWqAvMC0wHwYDVR0jBBgwFoAUp0NU
sbi7R0twksEuF5dY9QJFJdIwCgYDVR0UBAMCAQEwDQYJKoZIhvcNAQELBQADggEB
AAhP+0eBAbQbYbT57OaM4/P0LeYEt7NMDiuakhznOPvGbk4LVFBDPVtYIoCBNyZo
hSGNCyeyeZuI+HiPE+eRopEi59FxqSD8x8JyM2meHWL3o9ihIHAxOrAeWYHmxiR3
D0xzOSe8orEtnP92VJkvfk59XKWmqLevdSxEFbobDP0hxSbrWmZyUBKC4gHyU0Jj
eDGkX1NZz4BGuRUPaHEorOV0KRdtXScfxyIVv9/W6xWnlfaIKfFWlSfFY8dpC5GL
AO6d3z2UFCnDPx1psMxbccHqhMdRWsSqObGlIh8k3ngBzuBO/M1vWwvWVugmPFI8
vOMLCDb5ehVrGfJQYaO0l5g=
-----END X509 CRL-----`;

test('a list made by openssl is read: two-digit years, reasons, and extensions', () => {
  const list = parseRevocationList(bytesOf(BY_OPENSSL));
  assert.deepEqual([...list.serials], ['1000', '7f0123456789abcdef0123456789abcdef012345']);
  assert.equal(new Date(list.nextUpdate ?? 0).toISOString().slice(0, 4), '2026');
});

test('bytes that are no list are refused, and never anything worse', () => {
  const valid = bytesOf(authority.revocationList([1, 2, 300]));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 64 }),
        fc.integer({ min: 0, max: valid.length - 1 }).map((length) => valid.subarray(0, length)),
      ),
      (bytes) => {
        assert.throws(() => parseRevocationList(Buffer.from(bytes)), Error);
      },
    ),
  );
});

test('the blocks of a PEM file are found among other text, by their label', () => {
  const list = authority.revocationList();
  const pem = `Subject: somebody\n${authority.cert}\r\nnotes - with dashes\n${list}${authority.cert.replaceAll('\n', '\r\n')}`;
  assert.equal(pemBlocks(pem, 'CERTIFICATE').length, 2);
  assert.deepEqual(
    pemBlocks(pem, 'X509 CRL').map((block) => `${block}\n`),
    [list],
  );
  assert.deepEqual(pemBlocks(pem, 'PRIVATE KEY'), []);
});

/** One DER element of fewer than 128 bytes. */
const der = (tag: number, ...content: Buffer[]) =>
  Buffer.concat([Buffer.from([tag, Buffer.concat(content).length]), ...content]);
const SEQUENCE = 0x30;
const NUMBER = der(0x02, Buffer.from([7]));
const NAME = der(SEQUENCE, der(0x0c, Buffer.from('Authority')));
const list = (...fields: Buffer[]) => der(SEQUENCE, der(SEQUENCE, ...fields));
const THIS_UPDATE = der(0x17, Buffer.from('200101000000Z'));

test('a list whose years have two digits ends in the century that RFC 5280 names', () => {
  const ends = (time: string) =>
    new Date(
      parseRevocationList(list(der(SEQUENCE), NAME, THIS_UPDATE, der(0x17, Buffer.from(time)))).nextUpdate ?? 0,
    ).toISOString();
  assert.equal(ends('490203040506Z'), '2049-02-03T04:05:06.000Z');
  assert.equal(ends('500203040506Z'), '1950-02-03T04:05:06.000Z');
});

test('well-formed DER that lacks what a list or a certificate has is refused', () => {
  const malformed = /not the DER of a certificate or a revocation list/;
  assert.throws(() => parseRevocationList(list(der(SEQUENCE), NUMBER)), malformed, 'no authority');
  const noSerial = der(SEQUENCE, der(SEQUENCE, der(0x0c)));
  assert.throws(() => parseRevocationList(list(der(SEQUENCE), NAME, THIS_UPDATE, noSerial)), malformed, 'no serial');
  const certificate = { raw: list(NUMBER, der(SEQUENCE)) } as X509Certificate;
  assert.throws(() => issuedAs(certificate), malformed, 'no issuer');
  assert.throws(() => subjectOf(certificate), malformed, 'no subject');
});
