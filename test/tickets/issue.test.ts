import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { test } from 'node:test';
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { issueTicket, type TicketSigner } from '../../src/access/tickets/issue.ts';
import { TICKET_TYPE, ticketHash } from '../../src/access/tickets/ticket.ts';
import { failsWith } from '../auth/records.ts';
import { AUDIENCE, about, ISSUER, pairs, pemOf, service, signer } from './tickets.ts';

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
