import assert from 'node:assert/strict';
import { generateKeyPairSync, sign as signed } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { JWK } from 'jose';
import { createJwtVerifier } from '../../src/access/jwt.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { failsWith } from './records.ts';
import {
  AUDIENCE,
  claims,
  ISSUER,
  type KeyServer,
  makePair,
  type Pair,
  serveKeys,
  sign,
  stoppedClock,
} from './tokens.ts';

async function setUp(t: TestContext, server: KeyServer) {
  const clock = stoppedClock();
  const jwt = createJwtVerifier({
    issuers: [{ issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'], jwksUri: server.uri }],
    clock,
  });
  t.after(() => jwt.close());
  let serial = 0;
  /** Verifies a token that was never seen before, so that its key is needed. */
  const attempt = async (pair: Pair, kid?: string) => {
    serial += 1;
    const lasting = claims({ jti: String(serial), exp: clock.now() / 1000 + 300, iat: undefined });
    return jwt.verify(await sign(pair.privateKey, { alg: 'ES256', ...(kid === undefined ? {} : { kid }) }, lasting));
  };
  return { clock, attempt };
}

const unavailable = failsWith('RDCP_UNAVAILABLE');
const invalid = failsWith('RDCP_AUTH_FAILED', 'invalid_token');
const FRESH = 10 * 60_000;
const COOLDOWN = 30_000;

test('keys are fetched once for any number of tokens that arrive together', async (t) => {
  const pair = await makePair('ES256', 'k1');
  const server = await serveKeys(t, pair.jwk);
  const { attempt } = await setUp(t, server);
  const principals = await Promise.all(Array.from({ length: 20 }, () => attempt(pair, 'k1')));
  assert.equal(new Set(principals.map(({ sessionId }) => sessionId)).size, 20);
  assert.equal(server.requests, 1);
});

test('a new key is found when the pause is over, and many unknown key ids make one request', async (t) => {
  const [old, next] = [await makePair('ES256', 'old'), await makePair('ES256', 'next')];
  const server = await serveKeys(t, old.jwk);
  const { clock, attempt } = await setUp(t, server);
  await attempt(old, 'old');
  server.publish(old.jwk, next.jwk);
  await assert.rejects(attempt(next, 'next'), invalid);
  assert.equal(server.requests, 1, 'the pause holds');
  clock.advance(COOLDOWN);
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => assert.rejects(attempt(old, `unknown-${index}`), invalid)),
  );
  assert.equal(server.requests, 2);
  assert.equal((await attempt(next, 'next')).userId, 'ann');
  await assert.rejects(attempt(old, 'unknown'), invalid);
  assert.equal(server.requests, 2);
});

test('a key rotated moments after a fetch is found within five seconds, and floods of ids make no more requests', async (t) => {
  const [old, next] = [await makePair('ES256', 'old'), await makePair('ES256', 'next')];
  const server = await serveKeys(t, old.jwk);
  const { clock, attempt } = await setUp(t, server);
  await attempt(old, 'old');
  await assert.rejects(attempt(old, 'polled'), invalid);
  clock.advance(5000);
  await assert.rejects(attempt(old, 'polled'), invalid);
  assert.equal(server.requests, 2);
  clock.advance(30_000);
  assert.equal((await attempt(old, 'old')).userId, 'ann');
  server.publish(old.jwk, next.jwk);
  await assert.rejects(attempt(old, 'polled'), invalid);
  assert.equal(server.requests, 3);
  assert.equal((await attempt(next, 'next')).userId, 'ann');
  // A minute of new ids, one a second.
  clock.advance(60_000);
  const before = server.requests;
  for (let second = 0; second < 60; second += 1) {
    await assert.rejects(attempt(old, `guess-${second}`), invalid);
    clock.advance(1000);
  }
  assert.ok(server.requests - before <= 3, `${server.requests - before} requests in a minute`);
  const third = await makePair('ES256', 'third');
  clock.advance(60_000);
  await assert.rejects(attempt(old, 'fresh'), invalid);
  server.publish(third.jwk);
  clock.advance(5000);
  assert.equal((await attempt(third, 'third')).userId, 'ann');
});

test('a key that its issuer withdrew ends when the set is old', async (t) => {
  const [old, next] = [await makePair('ES256', 'old'), await makePair('ES256', 'next')];
  const server = await serveKeys(t, old.jwk);
  const { clock, attempt } = await setUp(t, server);
  await attempt(old, 'old');
  server.publish(next.jwk);
  clock.advance(FRESH);
  await assert.rejects(attempt(old, 'old'), invalid);
});

test('while the issuer is away known keys go on for a day, unknown ones are 503, and it is asked with pauses', async (t) => {
  const pair = await makePair('ES256', 'k1');
  const server = await serveKeys(t, pair.jwk);
  const { clock, attempt } = await setUp(t, server);
  await attempt(pair, 'k1');
  server.answer = { status: 500, body: 'down' };
  clock.advance(FRESH);
  await attempt(pair, 'k1');
  await attempt(pair, 'k1');
  assert.equal(server.requests, 2);
  await assert.rejects(attempt(pair, 'other'), unavailable);
  assert.equal(server.requests, 2);
  clock.advance(23 * 3_600_000);
  await attempt(pair, 'k1');
  clock.advance(3_600_000);
  await assert.rejects(attempt(pair, 'k1'), unavailable);
  server.publish(pair.jwk);
  clock.advance(COOLDOWN);
  assert.equal((await attempt(pair, 'k1')).userId, 'ann');
});

const broken: [string, KeyServer['answer']][] = [
  ['an error', { status: 500, body: 'down' }],
  ['no JSON', { status: 200, body: '<html>' }],
  ['no key set', { status: 200, body: '{"keys":{}}' }],
  ['too large a set', { status: 200, body: JSON.stringify({ keys: [], padding: 'x'.repeat(300_000) }) }],
  ['a redirect', { status: 302, body: 'http://127.0.0.1:1/keys' }],
];
for (const [what, answer] of broken) {
  test(`an issuer that answers ${what} makes it 503 with Retry-After, and is not asked again at once`, async (t) => {
    const pair = await makePair('ES256', 'k1');
    const server = await serveKeys(t);
    server.answer = answer;
    const { clock, attempt } = await setUp(t, server);
    for (let count = 0; count < 3; count += 1) {
      await assert.rejects(attempt(pair, 'k1'), (error) => {
        assert.ok(isRdcpError(error) && error.code === 'RDCP_UNAVAILABLE');
        assert.equal(error.status, 503);
        assert.equal(error.headers?.['Retry-After'], '30');
        return true;
      });
    }
    assert.equal(server.requests, 1);
    server.publish(pair.jwk);
    clock.advance(COOLDOWN);
    assert.equal((await attempt(pair, 'k1')).userId, 'ann');
  });
}

test('an issuer that does not answer is given up', async (t) => {
  const pair = await makePair('ES256', 'k1');
  const server = await serveKeys(t);
  server.answer = { status: 200, body: () => new Promise(() => {}) };
  const { attempt } = await setUp(t, server);
  await assert.rejects(attempt(pair, 'k1'), unavailable);
});

test('a token of a wrong algorithm causes no fetch', async (t) => {
  const server = await serveKeys(t);
  const { attempt } = await setUp(t, server);
  const jwt = createJwtVerifier({
    issuers: [{ issuer: ISSUER, audience: AUDIENCE, algorithms: ['RS256'], jwksUri: server.uri }],
    clock: stoppedClock(),
  });
  const pair = await makePair('ES256');
  await assert.rejects(async () => jwt.verify(await sign(pair.privateKey, { alg: 'ES256' })), invalid);
  assert.equal(server.requests, 0);
  await assert.rejects(attempt(pair), invalid);
  assert.equal(server.requests, 1);
});

test('a lone key needs no key id, several do', async (t) => {
  const [one, two] = [await makePair('ES256', 'one'), await makePair('ES256', 'two')];
  const server = await serveKeys(t, one.jwk);
  const { clock, attempt } = await setUp(t, server);
  assert.equal((await attempt(one)).userId, 'ann');
  server.publish(one.jwk, two.jwk);
  clock.advance(FRESH);
  await assert.rejects(attempt(one), invalid);
  assert.equal((await attempt(two, 'two')).userId, 'ann');
});

test('a published key that is private, short, for encryption or for another algorithm verifies nothing', async (t) => {
  const good = await makePair('ES256', 'k1');
  const server = await serveKeys(t);
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const wrong = [{ use: 'enc' }, { alg: 'ES384' }, { key_ops: ['sign'] }].map((more) => ({ ...good.jwk, ...more }));
  for (const jwk of [...wrong, { kty: 'oct', k: 'c2VjcmV0', kid: 'k1' }]) {
    server.publish(jwk);
    const { attempt } = await setUp(t, server);
    await assert.rejects(attempt(good, 'k1'), invalid);
  }
  const jwt = createJwtVerifier({
    issuers: [{ issuer: ISSUER, audience: AUDIENCE, algorithms: ['RS256'], jwksUri: server.uri }],
    clock: stoppedClock(),
  });
  server.publish({ ...(short.publicKey.export({ format: 'jwk' }) as JWK), kid: 'k1' });
  const header = Buffer.from('{"alg":"RS256","kid":"k1"}').toString('base64url');
  const input = `${header}.${Buffer.from(JSON.stringify(claims())).toString('base64url')}`;
  const signature = signed('sha256', Buffer.from(input), short.privateKey).toString('base64url');
  await assert.rejects(async () => jwt.verify(`${input}.${signature}`), invalid);
});
