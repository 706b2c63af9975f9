import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { issueTicket, type TicketSigner } from '../../src/access/tickets/issue.ts';
import { MAX_TICKET_LENGTH, TICKET_TYPE, ticketHash } from '../../src/access/tickets/ticket.ts';
import { failsWith } from '../auth/records.ts';
import fc from '../support/fast-check.ts';
import { AUDIENCE, about, encoded, forge, hmacSigned, ISSUER, pairs, pemOf, service, signer } from './tickets.ts';

const seconds = (now: number) => Math.floor(now / 1000);
const head = { typ: TICKET_TYPE, alg: 'EdDSA', kid: 'k1' };

function claims(now: number, changes: object = {}) {
  const iat = seconds(now);
  return { iss: ISSUER, aud: AUDIENCE, jti: 'a', categories: ['DATABASE'], iat, exp: iat + 600, ...changes };
}

const sign = (header: object, payload: object) => forge(header, payload, 'EdDSA', pairs.EdDSA.privateKey);

describe('a ticket is refused', () => {
  const changed: readonly (readonly [what: string, reason: string, header: object, payload: object])[] = [
    ['for another audience', 'wrong_audience', {}, { aud: ['billing'] }],
    ['of an unknown issuer', 'unknown_issuer', {}, { iss: 'https://else.example' }],
    ['of an issuer with the name of a prototype', 'unknown_issuer', {}, { iss: '__proto__' }],
    ['that is an access token', 'wrong_type', { typ: 'at+jwt' }, {}],
    ['without a type', 'wrong_type', { typ: undefined }, {}],
    ['of another algorithm than the key', 'wrong_algorithm', { alg: 'RS256' }, {}],
    ['of an algorithm with the name of a prototype', 'wrong_algorithm', { alg: 'constructor' }, {}],
    ['with its own key', 'malformed', { jwk: pairs.EdDSA.publicKey.export({ format: 'jwk' }) }, {}],
    ['with the address of a key set', 'malformed', { jku: 'http://127.0.0.1:1/keys' }, {}],
    ['with the address of a certificate', 'malformed', { x5u: 'http://127.0.0.1:1/cert' }, {}],
    ['with a certificate', 'malformed', { x5c: ['MIIB'] }, {}],
    ['with a critical parameter', 'malformed', { crit: ['b64'], b64: false }, {}],
    ['with a key id that is no text', 'malformed', { kid: { $ne: '' } }, {}],
    ['without an id', 'malformed', {}, { jti: undefined }],
    ['whose categories are no list', 'malformed', {}, { categories: 'DATABASE' }],
    ['with a category that is none', 'malformed', {}, { categories: ['DATABASE', '__proto__'] }],
    ['without categories', 'category_not_allowed', {}, { categories: [] }],
    ['of a tenant that is none', 'malformed', {}, { tenant: 'a b' }],
    ['whose end is no number', 'malformed', {}, { exp: '9999999999' }],
    ['that has no beginning', 'malformed', {}, { iat: undefined }],
  ];
  for (const [what, reason, header, payload] of changed) {
    it(what, () => {
      const { reader, refused, now } = service();
      assert.equal(reader.read(sign({ ...head, ...header }, claims(now(), payload))), undefined);
      assert.deepEqual(refused, [reason]);
    });
  }

  const offset: readonly (readonly [
    what: string,
    reason: string,
    issued: number,
    ends: number,
    maxDuration?: string,
  ])[] = [
    ['at its end', 'expired', -600, 0],
    ['after its end', 'expired', -3600, -1],
    ['before its beginning', 'not_yet_valid', 61, 600],
    ['that lasts longer than an hour', 'too_lasting', 0, 3601],
    ['that lasts longer than the owner allows', 'too_lasting', 0, 600, '5m'],
  ];
  for (const [what, reason, issued, ends, maxDuration] of offset) {
    it(what, () => {
      const { reader, refused, now } = service({ maxDuration });
      const at = seconds(now());
      assert.equal(reader.read(sign(head, claims(now(), { iat: at + issued, exp: at + ends }))), undefined);
      assert.deepEqual(refused, [reason]);
    });
  }

  it('without a signature', () => {
    const { reader, refused, now } = service();
    const none = `${encoded({ ...head, alg: 'none' })}.${encoded(claims(now()))}.`;
    assert.equal(reader.read(none), undefined);
    assert.equal(reader.read(`${none}AAAA`), undefined);
    assert.deepEqual(refused, ['malformed', 'wrong_algorithm']);
  });

  it('by HS256 with the public key as the secret', () => {
    const { reader, refused, now } = service();
    const header = { ...head, alg: 'HS256' };
    for (const secret of [pemOf(pairs.EdDSA.publicKey), pemOf(pairs.EdDSA.publicKey).trim()]) {
      assert.equal(reader.read(hmacSigned(header, claims(now()), secret)), undefined);
    }
    assert.deepEqual(refused, ['wrong_algorithm', 'wrong_algorithm']);
  });

  it('of another key, and with claims that were changed', () => {
    const { reader, refused, now } = service();
    const { value } = issueTicket(about(now()), now(), signer());
    const [header, , signature] = value.split('.');
    const changedClaims = `${header}.${encoded(claims(now(), { tenant: 'acme' }))}.${signature}`;
    const { privateKey } = pairs.EdDSA;
    const others = forge({ ...head, alg: 'ES256' }, claims(now()), 'ES256', pairs.ES256.privateKey);
    const short = sign(head, claims(now())).slice(0, -2);
    for (const forged of [changedClaims, others, short]) assert.equal(reader.read(forged), undefined);
    assert.deepEqual(refused, ['wrong_signature', 'wrong_algorithm', 'wrong_signature']);
    assert.ok(reader.read(forge(head, claims(now()), 'EdDSA', privateKey)), 'the owner of the key may');
  });

  it('longer than what baggage carries', () => {
    const { reader, refused, now } = service();
    const value = sign(head, claims(now(), { note: 'x'.repeat(4096) }));
    assert.ok(value.length > MAX_TICKET_LENGTH);
    assert.equal(reader.read(value), undefined);
    assert.deepEqual(refused, ['too_long']);
  });
});

test('a ticket without a signature is passed over: it is for services that share the store', () => {
  const { reader, refused, now } = service();
  assert.equal(reader.read(issueTicket(about(now()), now()).value), undefined);
  assert.deepEqual(refused, []);
});

test('only categories that the owner allows are on', () => {
  const { reader, refused, now } = service({ categories: ['HTTP_*', 'CACHE'] });
  const read = (...categories: string[]) => reader.read(sign(head, claims(now(), { categories })))?.categories;
  assert.deepEqual(read('DATABASE', 'HTTP_CLIENT', 'CACHE', 'CACHE_2'), ['HTTP_CLIENT', 'CACHE']);
  assert.equal(read('DATABASE'), undefined);
  assert.deepEqual(refused, ['category_not_allowed']);
});

test('a ticket that was valid is refused from its end on, also when the clock is set back', () => {
  const { reader, time, refused, now } = service();
  const { value } = issueTicket(about(now()), now(), signer());
  assert.ok(reader.read(value));
  time.suspend(599_999);
  assert.ok(reader.read(value));
  time.suspend(1);
  assert.equal(reader.read(value), undefined);
  time.setWall(now() - 3_600_000);
  assert.equal(reader.read(value), undefined);
  assert.deepEqual(refused, ['expired', 'expired']);
});

test('whatever the text, it is read without an error and is no ticket', () => {
  const { reader, now } = service();
  const json = fc.json().map((text) => Buffer.from(text).toString('base64url'));
  const part = fc.oneof(fc.string(), json, fc.constant(encoded(head)), fc.constant(encoded(claims(now()))));
  const text = fc.oneof(
    fc.string({ maxLength: 5000 }),
    fc.array(part, { maxLength: 5 }).map((all) => all.join('.')),
  );
  fc.assert(fc.property(text, (value) => reader.read(value) === undefined));
});

test('a ticket with one changed character before its signature is invalid', () => {
  const { reader, now } = service();
  const { value } = issueTicket(about(now()), now(), signer());
  const change = fc.record({ at: fc.nat(value.lastIndexOf('.')), to: fc.constantFrom(...'AZaz09-_.%') });
  const changed = change.map(({ at, to }) => value.slice(0, at) + to + value.slice(at + 1));
  fc.assert(fc.property(changed, (text) => text === value || reader.read(text) === undefined));
});

const NOW = Date.UTC(2026, 0, 1);

test('a ticket without a signature is 128 random bits, which its hash stands for', () => {
  const one = issueTicket(about(NOW), NOW);
  assert.match(one.value, /^rdcp_ticket_[\w-]{22}$/);
  assert.notEqual(one.value, issueTicket(about(NOW), NOW).value);
  assert.equal(one.expiresAt, NOW + 600_000);
  assert.match(ticketHash(one.value), /^[\w-]{43}$/);
});

for (const alg of ['EdDSA', 'ES256', 'PS256', 'RS256'] as const) {
  test(`a ticket signed with ${alg} is a JWS, which services verify once, and other libraries`, async () => {
    const issuers = [{ issuer: ISSUER, audience: AUDIENCE, publicKey: pemOf(pairs[alg].publicKey) }];
    const { reader, now, refused } = service({ issuers });
    const { value, expiresAt } = issueTicket(about(now(), { tenantId: 'acme' }), now(), signer(alg));
    const expected = { ...about(now()), issuer: ISSUER, tenantId: 'acme' };
    assert.deepEqual(reader.read(value), expected);
    assert.equal(reader.read(value), reader.read(value), 'the second answer is remembered');
    assert.deepEqual([expiresAt, refused], [expected.expiresAt, []]);
    assert.deepEqual(decodeProtectedHeader(value), { alg, kid: 'k1', typ: TICKET_TYPE });
    const { payload } = await jwtVerify(value, pairs[alg].publicKey, {
      currentDate: new Date(now()),
      typ: TICKET_TYPE,
    });
    const { categories } = expected;
    const [iat, exp] = [now() / 1000, expiresAt / 1000];
    const claims = { iss: ISSUER, aud: AUDIENCE, jti: 'activation-1', categories, tenant: 'acme', iat, exp };
    assert.deepEqual(payload, claims);
  });
}

test('a signed ticket ends after an hour, although its activation goes on', () => {
  const { value, expiresAt } = issueTicket(about(NOW, { expiresAt: NOW + 86_400_000 }), NOW, signer());
  assert.equal(decodeJwt(value).exp, NOW / 1000 + 3600);
  assert.equal(expiresAt, NOW + 3_600_000);
});

test('a ticket for more categories than baggage carries is refused when it is made', async () => {
  const categories = Array.from({ length: 400 }, (_, at) => `CATEGORY_${at}`);
  await assert.rejects(
    async () => issueTicket(about(NOW, { categories }), NOW, signer()),
    failsWith('RDCP_MALFORMED_REQUEST'),
  );
});

test('services with the same secret verify a ticket that is signed with it', () => {
  const key = createSecretKey(Buffer.from('a shared secret of at least 32 bytes'));
  const bySecret: TicketSigner = {
    issuer: ISSUER,
    audience: AUDIENCE,
    current: () => ({ key, header: { alg: 'HS256' } }),
  };
  const { reader, useOwnKeys, refused, now } = service({ issuers: [{ issuer: ISSUER }] }, ISSUER);
  const { value } = issueTicket(about(now()), now(), bySecret);
  assert.equal(reader.read(value), undefined);
  useOwnKeys({ find: () => key });
  assert.ok(reader.read(value));
  useOwnKeys({ find: () => createSecretKey(Buffer.from('another secret that has 32 bytes..')) });
  assert.equal(reader.read(issueTicket(about(now()), now() + 1000, bySecret).value), undefined);
  assert.deepEqual(refused, ['unknown_key', 'wrong_signature']);
});
