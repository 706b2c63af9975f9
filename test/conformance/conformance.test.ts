import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { SignJWT } from 'jose';
import { generateApiKey, hashApiKey } from '../../src/auth/api-key.ts';
import { judge } from '../../src/conformance/conformance.ts';
import { type Report, renderText } from '../../src/conformance/report.ts';
import { apiKey, bearer, type Credentials } from '../../src/conformance/session.ts';
import { createRdcp } from '../../src/rdcp.ts';
import { inBoth, rows } from '../support/tiers.ts';
import { decidedFaults } from './self/decided-faults.ts';
import { serve } from './self/handler.ts';
import { proxyTo } from './self/proxy.ts';

const KEY = generateApiKey({ env: 'test', randomBytes });
const READONLY_KEY = generateApiKey({ env: 'test', randomBytes });
const ISSUER = { issuer: 'https://id.example/', audience: 'rdcp', secret: 'a shared secret of at least 32 bytes' };
const CREDENTIALS: Credentials = {
  main: apiKey('key', KEY),
  readonly: apiKey('readonly key', READONLY_KEY),
  tenants: [],
};

const rdcp = createRdcp({
  server: { port: 0 },
  categories: {
    CONFORMANCE_ON: { description: 'On from the start', enabled: true },
    CONFORMANCE_OFF: { description: 'Off from the start' },
    'X-CONFORMANCE': { description: 'A custom one' },
  },
  security: {
    apiKeys: [
      { id: 'main', hash: hashApiKey(KEY), clientId: 'operator', scopes: ['discovery', 'status', 'control', 'admin'] },
      { id: 'readonly', hash: hashApiKey(READONLY_KEY), clientId: 'viewer', scopes: ['discovery', 'status'] },
    ],
    jwt: { ...ISSUER, algorithms: ['HS256'] },
  },
  // The limits themselves have tests of their own; here they would make the run wait for minutes.
  limits: { controlPerMinute: 100_000, readPerMinute: 100_000, anonymousPerMinute: 100_000 },
});
let url = '';

before(async () => {
  ({ url } = await rdcp.listen());
});
after(() => rdcp.close());

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

test('the endpoint conforms to level 1 of the specification and to its own decisions', async () => {
  const run = { credentials: CREDENTIALS, profile: 'otelrdcp', exhaust: false, only: [] } as const;
  const report = await judge({ target: { url: new URL(url) }, level: 1, ...run }, quiet);
  console.log(renderText(report));
  assert.deepEqual(failures(report), []);
  assert.deepEqual(report.leftOver, []);
  assert.equal(report.conformant, true);
});

test('bearer tokens conform to level 2', async () => {
  const everything = { sub: 'ann', scope: 'discovery status control admin' };
  const token = bearer('token', await issue(everything));
  const credentials = {
    main: token,
    token,
    expired: bearer('expired token', await issue({ ...everything, exp: 1_000_000_000 }), false),
    foreign: bearer('foreign token', await issue({ ...everything, aud: 'somebody-else' }), false),
    tenants: [],
  };
  const only = ['L2-TOKN', 'L2-METR', 'L2-AUDT', 'W-AUTH-0'];
  const run = { credentials, profile: 'otelrdcp', exhaust: false, only } as const;
  const report = await judge({ target: { url: new URL(url) }, level: 2, ...run }, quiet);
  assert.deepEqual(failures(report), []);
  assert.deepEqual(
    report.results.filter(({ outcome }) => outcome === 'SKIP'),
    [],
  );
});

inBoth('every fault put in front of the endpoint is found by the checks that are about it', async () => {
  const overlooked: string[] = [];
  for (const [index, { finds, fault }] of rows(decidedFaults).entries()) {
    const served = await serve(fault(proxyTo(url)));
    const run = { credentials: CREDENTIALS, profile: 'otelrdcp', exhaust: false, only: finds, level: 1 } as const;
    const { results } = await judge({ target: { url: new URL(served.url) }, ...run }, quiet);
    served.close();
    for (const { id, outcome, reason } of results) {
      if (outcome !== 'FAIL') overlooked.push(`fault ${index + 1}: ${id} ${outcome} ${reason ?? ''}`);
    }
  }
  assert.deepEqual(overlooked, []);
});
