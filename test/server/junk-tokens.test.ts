import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { serveIntrospection } from '../auth/introspection-server.ts';
import { AUDIENCE, claims, ISSUER, SECRET, secretBytes, sign } from '../auth/tokens.ts';
import { until } from '../support/until.ts';

/** Sends a bearer token to a service whose clients have one request without a valid credential in a minute. */
async function service(t: TestContext, security: RdcpConfig['security']) {
  const rdcp = createRdcp({
    server: { port: 0 },
    limits: { anonymousPerMinute: 1 },
    security: { level: 'standard', ...security },
    announce: false,
    logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  t.after(() => rdcp.close());
  const { url } = await rdcp.listen();
  return async (token: string) => {
    const answer = await fetch(url + PATHS.status, { headers: { Authorization: `Bearer ${token}` } });
    await answer.body?.cancel();
    return answer.status;
  };
}

test('junk JWTs of any kind keep no new valid one of their address out', async (t) => {
  const jwt = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256' as const], secret: SECRET };
  const status = await service(t, { jwt });
  const now = Math.floor(Date.now() / 1000);
  const token = (changes: object) =>
    sign(secretBytes(), { alg: 'HS256' }, claims({ exp: now + 300, iat: now, ...changes }));
  const valid = (jti: number) => token({ jti: String(jti) });
  const good = await valid(-1);
  const [head, body] = good.split('.');
  const foreign = await token({ iss: 'https://other.example' });
  const expired = await token({ exp: now - 3600 });
  for (let round = 0; round < 20; round++) {
    const junk = [`a.b.c${round}`, 'x'.repeat(4000 + round), `${head}.${body}.${'A'.repeat(43)}`, foreign, expired];
    const refused = await Promise.all(junk.map(status));
    if (round > 0) assert.deepEqual(refused, [429, 429, 429, 429, 429]);
    assert.equal(await status(await valid(round)), 200, `a new token in round ${round}`);
  }
});

test('a valid opaque token that found no place in a flood of its address is accepted when it comes again', async (t) => {
  const release = Promise.withResolvers<void>();
  const issuer = await serveIntrospection(t, async (token) => {
    if (token === 'junk-0') return { active: false };
    if (token.startsWith('junk')) await release.promise;
    return token.startsWith('junk') ? { active: false } : { active: true, sub: 'ann', scope: 'status' };
  });
  const { endpoint } = issuer;
  const status = await service(t, { introspection: { endpoint, clientId: 'rdcp', clientSecret: 'secret' } });
  assert.equal(await status('junk-0'), 401);
  let answered = 0;
  const junk = Array.from({ length: 50 }, async (_, index) => {
    const refused = await status(`junk-${index + 1}`);
    answered += 1;
    return refused;
  });
  // One is asked about, and 28 wait for it.
  await until('the line is full', () => answered === 50 - 29);
  assert.equal(await status('good'), 429);
  assert.equal(await status('good'), 200);
  release.resolve();
  assert.deepEqual(new Set(await Promise.all(junk)), new Set([429]));
});
