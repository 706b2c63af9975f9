import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { JWK } from 'jose';
import { issueTicket } from '../../src/access/tickets/issue.ts';
import { serveKeys } from '../auth/tokens.ts';
import { until } from '../support/until.ts';
import { about, ISSUER, pairs, service, signer } from './tickets.ts';

const jwk = (key: KeyObject, members: JWK): JWK => ({ ...(key.export({ format: 'jwk' }) as JWK), ...members });
const ed25519 = (kid: string) => jwk(pairs.EdDSA.publicKey, { kid, alg: 'EdDSA', use: 'sig' });

const FIRST_FETCH = 500;
const REFRESH = 10 * 60_000;
const DAY = 24 * 3_600_000;

async function setUp(t: TestContext, ...keys: JWK[]) {
  const server = await serveKeys(t, ...keys);
  const made = service({ issuers: [{ issuer: ISSUER, jwksUri: server.uri }] });
  t.after(made.close);
  let serial = 0;
  return {
    ...made,
    server,
    /** Lets time pass, and waits for the request and the timer after it. */
    async fetched(milliseconds: number) {
      const before = server.requests;
      made.time.suspend(milliseconds);
      await made.time.pass(0);
      await until('the keys to be fetched', () => server.requests > before && made.time.pending > 0);
    },
    /** Reads a ticket that was not seen before. */
    attempt(alg: keyof typeof pairs, kid: string) {
      serial += 1;
      return made.reader.read(issueTicket(about(made.now(), { id: `a${serial}` }), made.now(), signer(alg, kid)).value);
    },
  };
}

test('keys are fetched after the start and every ten minutes, and never for a ticket', async (t) => {
  const { server, attempt, fetched, refused } = await setUp(t, ed25519('old'));
  assert.equal(attempt('EdDSA', 'old'), undefined, 'there is no key yet');
  await fetched(FIRST_FETCH);
  assert.ok(attempt('EdDSA', 'old'));
  server.publish(ed25519('next'));
  for (let each = 0; each < 50; each += 1) assert.equal(attempt('EdDSA', `unknown-${each}`), undefined);
  assert.equal(attempt('EdDSA', 'next'), undefined);
  assert.equal(server.requests, 1);
  await fetched(REFRESH);
  assert.ok(attempt('EdDSA', 'next'));
  assert.equal(attempt('EdDSA', 'old'), undefined, 'a withdrawn key is not used');
  assert.deepEqual([...new Set(refused)], ['unknown_key']);
});

test('while the issuer is away its keys are used for a day, and it is asked every 30 seconds', async (t) => {
  const { server, attempt, fetched, time } = await setUp(t, ed25519('k1'));
  await fetched(FIRST_FETCH);
  server.answer = { status: 500, body: 'down' };
  await fetched(REFRESH);
  await fetched(30_000);
  assert.ok(attempt('EdDSA', 'k1'));
  time.suspend(DAY);
  assert.equal(attempt('EdDSA', 'k1'), undefined);
  server.publish(ed25519('k1'));
  await fetched(0);
  assert.ok(attempt('EdDSA', 'k1'));
});

test('a published key verifies its own algorithm alone, and what is no key for signatures is left out', async (t) => {
  const { attempt, fetched, refused } = await setUp(
    t,
    jwk(pairs.RS256.publicKey, { kid: 'rs', alg: 'RS256' }),
    jwk(pairs.ES256.publicKey, { kid: 'ec' }),
    jwk(pairs.EdDSA.publicKey, { kid: 'encrypts', use: 'enc' }),
    jwk(pairs.EdDSA.publicKey, { kid: 'mislabelled', alg: 'RS256' }),
    { kty: 'oct', k: Buffer.from('a shared secret of at least 32 bytes').toString('base64url'), kid: 'secret' },
    { kty: 'OKP', kid: 'broken' },
    jwk(pairs.EdDSA.publicKey, { kid: 'k1' }),
  );
  await fetched(FIRST_FETCH);
  for (const [alg, kid] of [
    ['RS256', 'rs'],
    ['ES256', 'ec'],
    ['EdDSA', 'k1'],
  ] as const) {
    assert.ok(attempt(alg, kid), kid);
  }
  assert.deepEqual(refused, []);
  for (const [alg, kid] of [
    ['PS256', 'rs'],
    ['EdDSA', 'encrypts'],
    ['EdDSA', 'mislabelled'],
    ['EdDSA', 'secret'],
    ['EdDSA', 'broken'],
    ['EdDSA', '__proto__'],
  ] as const) {
    assert.equal(attempt(alg, kid), undefined, kid);
  }
  assert.deepEqual([...new Set(refused)], ['unknown_key']);
});
