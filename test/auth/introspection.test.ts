import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createBearerVerifier } from '../../src/access/authenticator.ts';
import { createIntrospectionVerifier, type IntrospectionVerifierOptions } from '../../src/access/introspection.ts';
import { createJwtVerifier } from '../../src/access/jwt.ts';
import type { IntrospectionOptions } from '../../src/options/options.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { recordConditions } from '../support/conditions.ts';
import { until } from '../support/until.ts';
import { type IntrospectionServer, Refusal, serveIntrospection } from './introspection-server.ts';
import { failsWith } from './records.ts';
import { AUDIENCE, claims, ISSUER, SECRET, seconds, secretBytes, sign, stoppedClock } from './tokens.ts';

const active = (changes: object = {}) => ({
  active: true,
  sub: 'ann',
  client_id: 'console',
  scope: 'status control openid',
  exp: seconds(300),
  tenant_id: 'acme',
  ...changes,
});

async function setUp(
  t: TestContext,
  answer: IntrospectionServer['answer'],
  settings: Partial<IntrospectionVerifierOptions> = {},
) {
  const server = await serveIntrospection(t, answer);
  const clock = stoppedClock();
  const { watch, lines } = recordConditions();
  const verifier = createIntrospectionVerifier({
    endpoint: server.endpoint,
    clientId: 'rdcp',
    clientSecret: 'secret',
    ...settings,
    clock,
    condition: watch('introspection'),
  });
  return { server, clock, lines, verifier, verify: async (token: string) => verifier.verify(token) };
}

const invalid = failsWith('RDCP_AUTH_FAILED', 'invalid_token');
const unavailable = failsWith('RDCP_UNAVAILABLE');

test('an active token is who the issuer says, with our scopes alone', async (t) => {
  const { verify } = await setUp(t, () => active());
  assert.deepEqual(await verify('opaque-1'), {
    method: 'bearer',
    userId: 'ann',
    clientId: 'console',
    tenantId: 'acme',
    scopes: ['status', 'control'],
    expiresAt: seconds(300) * 1000,
  });
  const listing = await setUp(t, () => active({ scope: undefined, scopes: ['admin', 'other'] }));
  assert.deepEqual((await listing.verify('opaque-2')).scopes, ['admin']);
});

test('scopes, tenants and limits are read from the fields that are configured, and a client may act for itself', async (t) => {
  const answer = { active: true, client_id: 'batch', permissions: ['admin'], org: 'acme' };
  const { verify } = await setUp(t, () => answer, { scopeClaim: 'permissions', tenantClaim: 'org' });
  const { userId, scopes, tenantId, expiresAt } = await verify('opaque');
  assert.deepEqual([userId, scopes, tenantId, expiresAt], ['batch', ['admin'], 'acme', undefined]);

  const named = { otelrdcp_tenants: ['acme'], teams: ['b*'], otelrdcp_allow: { categories: ['DB_*'] } };
  const listed = active({ ...named, tenant_id: undefined, may: { categories: ['*'] } });
  const ours = await (await setUp(t, () => listed)).verify('opaque');
  assert.deepEqual([ours.tenants, ours.allow], [['acme'], { categories: ['DB_*'] }]);
  const claims = { tenantsClaim: 'teams', allowClaim: 'may', allow: { categories: ['HTTP'] }, approval: true };
  const others = await (await setUp(t, () => listed, claims)).verify('opaque');
  assert.deepEqual([others.tenants, others.allow, others.approval], [['b*'], { categories: ['HTTP'] }, false]);
  const malformed = await setUp(t, () => active({ otelrdcp_allow: 'DB_*' }));
  await assert.rejects(malformed.verify('opaque'), invalid);
});

test('the request is that of RFC 7662, with both halves of the credentials encoded', async (t) => {
  const { server, verify } = await setUp(t, () => active(), { clientId: 'rdcp:dev', clientSecret: 'p+ss w&rd' });
  await verify('a.b~c/d+e==');
  const [asked] = server.asked;
  assert.equal(asked?.form.get('token'), 'a.b~c/d+e==');
  assert.equal(asked?.form.get('token_type_hint'), 'access_token');
  assert.equal(asked?.form.has('client_id'), false);
  const basic = Buffer.from(asked?.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
  assert.equal(basic, 'rdcp%3Adev:p%2Bss+w%26rd');
});

test('without a secret the client id goes in the body', async (t) => {
  const { server, verify } = await setUp(t, () => active(), { clientSecret: undefined });
  await verify('opaque');
  assert.equal(server.asked[0]?.form.get('client_id'), 'rdcp');
  assert.equal(server.asked[0]?.headers.authorization, undefined);
});

/** What claims may be is tested with JWTs, which are read by the same function. */
const refused: [string, object, Partial<IntrospectionOptions>?][] = [
  ['that is not active', { active: false }],
  ['that is not active, whatever else is said', active({ active: false })],
  ['without a subject', active({ sub: undefined, client_id: undefined })],
  ['that is not valid yet', active({ nbf: seconds(120) })],
  ['with a malformed tenant', active({ tenant_id: 'a/b' })],
  ['of another type', active({ token_type: 'DPoP' })],
  ['that is a refresh token', active({ token_use: 'refresh_token' })],
  ['that is an ID token', active({ nonce: 'n' })],
  ['of another issuer', active({ iss: 'https://evil.example/' }), { issuer: ISSUER }],
  ['without the issuer that is demanded', active(), { issuer: ISSUER }],
  ['for another audience', active({ aud: 'billing' }), { audience: AUDIENCE }],
  ['for no audience, where one is demanded', active(), { audience: [AUDIENCE] }],
];
for (const [what, answer, settings] of refused) {
  test(`a token ${what} is refused`, async (t) => {
    const { verify } = await setUp(t, () => answer, settings);
    await assert.rejects(verify('opaque'), invalid);
  });
}

test('issuer and audience that agree are accepted', async (t) => {
  const answer = active({ iss: ISSUER, aud: ['other', AUDIENCE], token_type: 'bearer', token_use: 'access_token' });
  const { verify } = await setUp(t, () => answer, { issuer: ISSUER, audience: AUDIENCE });
  assert.equal((await verify('opaque')).userId, 'ann');
});

test('a token that the issuer calls active although it has expired is refused as expired', async (t) => {
  const { verify } = await setUp(t, () => active({ exp: seconds(0) }));
  await assert.rejects(verify('opaque'), failsWith('RDCP_AUTH_FAILED', 'token_expired'));
});

test('what can be no bearer token is refused without asking', async (t) => {
  const { server, verify } = await setUp(t, () => active());
  for (const token of ['', 'a b', 'a\u0000b', 'ä', 'a=b', 'x'.repeat(4097), '{"active":true}']) {
    await assert.rejects(verify(token), invalid);
  }
  assert.equal(server.asked.length, 0);
});

test('a token is asked for once, however many requests carry it at the same time', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { server, verify } = await setUp(t, async () => {
    await gate.promise;
    return active();
  });
  const verified = Array.from({ length: 30 }, () => verify('opaque'));
  gate.resolve();
  const principals = await Promise.all(verified);
  assert.equal(new Set(principals).size, 1);
  assert.equal(server.asked.length, 1);
});

test('an answer is believed for a minute, so that a token that was revoked ends', async (t) => {
  const { server, clock, verify } = await setUp(t, () => active());
  await verify('opaque');
  server.answer = () => ({ active: false });
  clock.advance(59_999);
  await verify('opaque');
  assert.equal(server.asked.length, 1);
  clock.advance(1);
  await assert.rejects(verify('opaque'), invalid);
});

test('an answer is never believed past the expiry of the token', async (t) => {
  const { clock, verify } = await setUp(t, () => active({ exp: seconds(5) }));
  await verify('opaque');
  clock.advance(5000);
  await assert.rejects(verify('opaque'), failsWith('RDCP_AUTH_FAILED', 'token_expired'));
});

test('a refusal is remembered briefly', async (t) => {
  const { server, clock, verify } = await setUp(t, () => ({ active: false }));
  for (let count = 0; count < 5; count += 1) await assert.rejects(verify('opaque'), invalid);
  assert.equal(server.asked.length, 1);
  server.answer = () => active();
  clock.advance(10_000);
  assert.equal((await verify('opaque')).userId, 'ann');
});

const broken: [string, object | string | number][] = [
  ['an error', 500],
  ['that it does not know us', 401],
  ['a redirect', 302],
  ['something that is no JSON', '<html>'],
  ['a list', []],
  ['nothing', ''],
  ['an object without active', { sub: 'ann' }],
  ['active as a text', { active: 'true', sub: 'ann' }],
  ['more than 64 KiB', { active: true, sub: 'ann', padding: 'x'.repeat(70_000) }],
];
for (const [what, answer] of broken) {
  test(`an issuer that answers ${what} makes it 503 with Retry-After`, async (t) => {
    const { server, verify } = await setUp(t, () => answer);
    await assert.rejects(verify('opaque'), (error) => {
      assert.ok(unavailable(error) && isRdcpError(error));
      assert.match(error.headers?.['Retry-After'] ?? '', /^[1-9]\d*$/);
      return true;
    });
    assert.equal(server.asked.length, 1);
  });
}

test('an issuer that is down is reported once, and is over with its next answer', async (t) => {
  const { server, lines, verify } = await setUp(t, () => 500);
  for (let count = 0; count < 5; count += 1) await assert.rejects(verify(`opaque-${count}`), unavailable);
  const down = 'security.introspection.endpoint answers with status 500';
  assert.deepEqual(lines, [down]);
  server.answer = () => ({ active: false });
  await assert.rejects(verify('opaque-1'), invalid);
  assert.deepEqual(lines, [down, 'introspection is over']);
});

/** Answers of servers that refuse a token by a status, where RFC 7662 has 200. */
const refusals: [string, number | Refusal][] = [
  ['400', 400],
  ['400 invalid_request', new Refusal(400, { error: 'invalid_request' })],
  ['400 invalid_token', new Refusal(400, { error: 'invalid_token' })],
  ['401 invalid_token', new Refusal(401, { error: 'invalid_token' })],
  ['401 with a challenge for the token', new Refusal(401, undefined, 'Bearer realm="x", error="invalid_token"')],
];
for (const [what, answer] of refusals) {
  test(`a token that the issuer refuses with ${what} is not active, and no outage`, async (t) => {
    const { server, lines, verify } = await setUp(t, (token) => (token === 'good' ? active() : answer));
    await verify('good');
    for (let count = 0; count < 20; count += 1) await assert.rejects(verify(`odd-${count}`), invalid);
    server.answer = () => active();
    assert.equal((await verify('another')).userId, 'ann');
    assert.deepEqual(lines, []);
  });
}

const refusesUs: [string, number | Refusal, number][] = [
  ['401', 401, 401],
  ['401 without a known reason', new Refusal(401, { error: 'request_unauthorized' }), 401],
  ['401 invalid_client', new Refusal(401, { error: 'invalid_client' }), 401],
  ['400 invalid_client', new Refusal(400, { error: 'invalid_client' }), 400],
  ['403', 403, 403],
];
for (const [what, answer, status] of refusesUs) {
  test(`${what} is about our credentials: the token is not verified, and the outage is reported`, async (t) => {
    const { server, clock, lines, verify } = await setUp(t, () => active());
    await verify('known');
    server.answer = () => answer;
    clock.advance(60_000);
    for (const token of ['known', 'new']) await assert.rejects(verify(token), unavailable);
    const told = `security.introspection.endpoint answers with status ${status}: it refuses clientId or clientSecret`;
    assert.deepEqual(lines, [told]);
    server.answer = () => active();
    assert.equal((await verify('known')).userId, 'ann');
    assert.deepEqual(lines, [told, 'introspection is over']);
  });
}

const sender = (address: string, spent = false) => ({ address, isSpent: () => spent });

test('an address has four requests to the issuer at a time; the others wait, and another address does not', async (t) => {
  const gate = Promise.withResolvers<void>();
  let open = 0;
  let most = 0;
  const { server, verifier } = await setUp(t, async (token) => {
    open += 1;
    if (token.startsWith('many')) most = Math.max(most, open);
    if (token.startsWith('many')) await gate.promise;
    open -= 1;
    return active();
  });
  const verify = async (token: string, address: string) => verifier.verify(token, sender(address));
  const many = Array.from({ length: 40 }, (_, index) =>
    verify(`many-${index}`, 'busy').then(
      () => 'active',
      (error: unknown) => (isRdcpError(error) ? error.code : String(error)),
    ),
  );
  await until('the issuer was asked four times', () => server.asked.length >= 4);
  assert.equal((await verify('other', 'quiet')).userId, 'ann');
  assert.equal(server.asked.length, 5);
  gate.resolve();
  const outcomes = await Promise.all(many);
  assert.equal(most, 4);
  assert.deepEqual(
    ['active', 'RDCP_UNAVAILABLE'].map((outcome) => outcomes.filter((each) => each === outcome).length),
    [32, 8],
  );
});

test('addresses with many tokens hold up another one for a moment, and refuse it nothing', async (t) => {
  const answers: (() => void)[] = [];
  const { server, verifier } = await setUp(t, async () => {
    await new Promise<void>((resolve) => answers.push(resolve));
    return active();
  });
  const verify = async (token: string, address: string) => verifier.verify(token, sender(address));
  const many = Array.from({ length: 160 }, (_, index) => verify(`many-${index}`, `busy-${index % 10}`));
  await until('the issuer was asked 32 times', () => server.asked.length >= 32);
  const other = verify('other', 'quiet');
  // Those that wait already have their turn once each, and then the newcomer.
  let rounds = 0;
  while (!server.asked.some(({ form }) => form.get('token') === 'other')) {
    rounds += 1;
    assert.ok(rounds <= 2);
    const asked = server.asked.length;
    for (const answer of answers.splice(0)) answer();
    await until('the next tokens were asked about', () => server.asked.length >= Math.min(161, asked + 32));
  }
  const answering = setInterval(() => {
    for (const answer of answers.splice(0)) answer();
  }, 5);
  assert.equal((await other).userId, 'ann');
  assert.equal((await Promise.all(many)).length, 160);
  clearInterval(answering);
});

test('an address that spent its quota has one unknown token asked about at a time, and a valid one is accepted', async (t) => {
  let open = 0;
  let most = 0;
  const { server, clock, verifier } = await setUp(t, async (token) => {
    open += 1;
    if (token !== 'known') most = Math.max(most, open);
    await new Promise((resolve) => setTimeout(resolve, 5));
    open -= 1;
    return token.startsWith('junk') ? { active: false } : active();
  });
  const verify = async (token: string, spent: boolean) => verifier.verify(token, sender('nat', spent));
  await verify('known', false);
  const junk = Promise.allSettled(Array.from({ length: 20 }, (_, index) => verify(`junk-${index}`, true)));
  assert.equal((await verify('unknown', true)).userId, 'ann');
  assert.ok((await junk).every(({ status }) => status === 'rejected'));
  assert.equal(most, 1);
  const asked = server.asked.length;
  const refused = await Promise.allSettled(Array.from({ length: 200 }, (_, index) => verify(`junk+${index}`, true)));
  for (const outcome of refused) assert.ok(outcome.status === 'rejected' && invalid(outcome.reason));
  assert.equal(server.asked.length, asked + 29, 'one at a time, and those that wait');
  clock.advance(60_000);
  assert.equal((await verify('known', true)).userId, 'ann');
});

test('tokens that wait for their turn are asked about one by one once their address has spent its quota', async (t) => {
  const gate = Promise.withResolvers<void>();
  let open = 0;
  let most = 0;
  const { server, verifier } = await setUp(t, async () => {
    open += 1;
    await gate.promise;
    if (server.asked.length > 4) most = Math.max(most, open);
    open -= 1;
    return { active: false };
  });
  let spent = false;
  const junk = Array.from({ length: 20 }, async (_, index) =>
    verifier.verify(`junk-${index}`, { address: 'nat', isSpent: () => spent }),
  );
  const settled = Promise.allSettled(junk);
  await until('the issuer was asked four times', () => server.asked.length >= 4);
  spent = true;
  gate.resolve();
  assert.ok((await settled).every(({ status }) => status === 'rejected'));
  assert.ok(most <= 4 && server.asked.length === 20);
});

test('made-up tokens push out none that was active, however many they are', async (t) => {
  const answer = (token: string) => (token === 'known' ? active() : { active: false });
  const { server, clock, verify } = await setUp(t, answer, { cacheSize: 4 });
  await verify('known');
  for (let count = 0; count < 10; count += 1) await assert.rejects(verify(`junk-${count}`), invalid);
  clock.advance(59_000);
  const before = server.asked.length;
  await verify('known');
  assert.equal(server.asked.length, before);
});

test('while the issuer is down a token that was verified goes on until its answer is old', async (t) => {
  const { server, clock, verify } = await setUp(t, () => active());
  await verify('known');
  server.answer = () => 500;
  for (let count = 0; count < 5; count += 1) await assert.rejects(verify(`unknown-${count}`), unavailable);
  assert.equal((await verify('known')).userId, 'ann');
  clock.advance(60_000);
  await assert.rejects(verify('known'), unavailable);
});

test('an endpoint that is no https address is a wrong configuration', () => {
  for (const endpoint of ['http://id.example/introspect', 'ftp://id.example', 'introspect', '']) {
    assert.throws(
      () => createIntrospectionVerifier({ endpoint, clientId: 'rdcp', clock: stoppedClock() }),
      failsWith('RDCP_CONFIG_INVALID'),
    );
  }
});

test('a JWT of a known issuer, good or bad, and a secret of ours are never sent to the issuer of opaque tokens', async (t) => {
  const server = await serveIntrospection(t, () => active());
  const clock = stoppedClock();
  const bearer = createBearerVerifier({
    jwt: createJwtVerifier({
      issuers: [{ issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256'], secret: SECRET }],
      clock,
    }),
    opaque: createIntrospectionVerifier({ endpoint: server.endpoint, clientId: 'rdcp', clock }),
  });
  const verify = async (token: string) => bearer.verify(token);
  const good = await sign(secretBytes(), { alg: 'HS256' }, claims());
  assert.equal((await verify(good)).userId, 'ann');
  const forged = await sign(secretBytes('another secret of at least 32 bytes'), { alg: 'HS256' }, claims());
  const expired = await sign(secretBytes(), { alg: 'HS256' }, claims({ exp: seconds(-600) }));
  const unsigned = `${good.split('.').slice(0, 2).join('.')}.`;
  for (const token of [forged, unsigned, `${good}x`, 'rdcp_live_v1_abc', 'rdcp_rt_a.b.c']) {
    await assert.rejects(verify(token), invalid);
  }
  await assert.rejects(verify(expired), failsWith('RDCP_AUTH_FAILED', 'token_expired'));
  assert.equal(server.asked.length, 0);
  // Its issuer is unknown: it may be an opaque token that looks like a JWT.
  const foreign = await sign(secretBytes(), { alg: 'HS256' }, claims({ iss: 'https://other.example/' }));
  assert.equal((await verify(foreign)).userId, 'ann');
  assert.equal(server.asked.length, 1);
});
