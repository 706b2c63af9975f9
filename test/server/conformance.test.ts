import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SignJWT } from 'jose';
import { SCOPES } from '../../src/wire/constants.ts';
import { makeKey } from '../auth/records.ts';
import { judge } from '../conformance/src/conformance.ts';
import type { Report } from '../conformance/src/report.ts';
import { apiKey, bearer, type Credentials } from '../conformance/src/session.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newStore } from '../support/folder.ts';
import { startService } from '../support/service.ts';
import { inFull } from '../support/tiers.ts';

const main = makeKey({ id: 'main', clientId: 'operator', scopes: SCOPES });
const viewer = makeKey({ id: 'readonly', clientId: 'viewer', scopes: ['discovery', 'status'] });
const ISSUER = { issuer: 'https://id.example/', audience: 'rdcp', secret: 'a shared secret of at least 32 bytes' };
const CREDENTIALS: Credentials = {
  main: apiKey('key', main.key),
  readonly: apiKey('readonly key', viewer.key),
  tenants: [],
};

/** The endpoint's address, with a store that other processes may share. */
async function serve(t: TestContext, store = newStore(t)): Promise<URL> {
  const { url } = await startService(t, {
    store,
    categories: {
      CONFORMANCE_ON: { description: 'On from the start', enabled: true },
      CONFORMANCE_OFF: { description: 'Off from the start' },
      'X-CONFORMANCE': { description: 'A custom one' },
    },
    security: {
      apiKeys: [main.record, viewer.record],
      jwt: { ...ISSUER, algorithms: ['HS256'] },
    },
    // The limits themselves have tests of their own; here they would make the run wait for minutes.
    limits: { controlPerMinute: 100_000, readPerMinute: 100_000, anonymousPerMinute: 100_000 },
    announce: false,
  });
  return new URL(url);
}

const quiet = () => undefined;

function failures({ results }: Report): readonly string[] {
  return results
    .filter(({ outcome }) => outcome === 'FAIL')
    .map(({ id, statement, expected, got }) => `${id} ${statement}: expected ${expected}, got ${got}`);
}

function issue(claims: { readonly sub: string; readonly scope: string; readonly aud?: string; readonly exp?: number }) {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ iss: ISSUER.issuer, aud: ISSUER.audience, iat: now, exp: now + 300, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(ISSUER.secret));
}

async function assertLevel1(url: URL): Promise<void> {
  const report = await judge({ target: { url }, level: 1, credentials: CREDENTIALS, exhaust: false, only: [] }, quiet);
  assert.deepEqual(failures(report), []);
  assert.deepEqual(report.leftOver, []);
  assert.equal(report.conformant, true);
}

test('the endpoint conforms to level 1 of the specification', async (t) => assertLevel1(await serve(t)));

inFull('in memory it conforms to level 1', async (t) => assertLevel1(await serve(t, 'memory:')));

inFull('with a Redis store it conforms to level 1', { skip: whyNoRedis() }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  await assertLevel1(await serve(t, redis.url));
});

test('bearer tokens conform to level 2', async (t) => {
  const everything = { sub: 'ann', scope: 'discovery status control admin' };
  const token = bearer('token', await issue(everything));
  const credentials = {
    main: token,
    token,
    expired: bearer('expired token', await issue({ ...everything, exp: 1_000_000_000 }), false),
    foreign: bearer('foreign token', await issue({ ...everything, aud: 'somebody-else' }), false),
    tenants: [],
  };
  const only = ['L2-TOKN', 'L2-METR', 'L2-AUDT'];
  const run = { credentials, exhaust: false, only } as const;
  const report = await judge({ target: { url: await serve(t) }, level: 2, ...run }, quiet);
  assert.deepEqual(failures(report), []);
  assert.deepEqual(
    report.results.filter(({ outcome }) => outcome === 'SKIP'),
    [],
  );
});
