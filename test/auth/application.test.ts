import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { createApplicationAuthenticator } from '../../src/access/application.ts';
import { type ClientCertificate, createAuthenticator } from '../../src/access/authenticator.ts';
import type { Authenticate } from '../../src/options/options.ts';
import { SCOPES } from '../../src/wire/constants.ts';
import { isRdcpError, type RdcpError } from '../../src/wire/errors.ts';
import fc from '../support/fast-check.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { manyNames } from './certificates.ts';
import { failsWith, request } from './records.ts';

const RESULT = {
  valid: true,
  method: 'bearer',
  userId: 'ann',
  tenantId: 'acme',
  scopes: ['status', 'control'],
  sessionId: 's-1',
  expiresAt: '2030-01-01T00:00:00.000Z',
  metadata: { clientId: 'console', clientVersion: '1.2', ipAddress: '10.0.0.1' },
} as const;

function setUp(answer: (message: IncomingMessage) => unknown, certificateRequired = false) {
  const time = virtualTime();
  const reports: RdcpError[] = [];
  const authenticator = createAuthenticator({
    application: createApplicationAuthenticator(answer as Authenticate, {
      clock: time.clock,
      delay: time.delay,
      report: (error) => reports.push(error),
    }),
    certificateRequired,
  });
  const message = new IncomingMessage(new Socket());
  const authenticate = (headers: Record<string, string> = {}, clientCertificate?: ClientCertificate) =>
    authenticator.authenticate({ ...request(headers), message, clientCertificate });
  return { authenticator, authenticate, reports, time, message };
}

const refused = failsWith('RDCP_AUTH_FAILED', 'invalid_token');

test('a validation result becomes the principal, field by field', async () => {
  const { authenticate, message, authenticator } = setUp((given) => {
    assert.equal(given, message);
    return RESULT;
  });
  assert.deepEqual(await authenticate(), {
    method: 'bearer',
    userId: 'ann',
    clientId: 'console',
    tenantId: 'acme',
    scopes: ['status', 'control'],
    sessionId: 's-1',
    expiresAt: Date.parse('2030-01-01T00:00:00.000Z'),
  });
  assert.deepEqual(authenticator.methods, ['bearer']);
});

test('an application that does not know the credential leaves it to the others', async () => {
  for (const nothing of [undefined, null]) {
    const { authenticate } = setUp(async () => nothing);
    assert.equal(await authenticate(), undefined);
    await assert.rejects(
      authenticate({ 'x-rdcp-api-key': 'x'.repeat(40) }),
      failsWith('RDCP_AUTH_FAILED', 'invalid_key'),
    );
  }
});

test('a result that says no is a refusal, and nothing to report', async () => {
  const { authenticate, reports } = setUp(() => ({ valid: false, userId: 'ann', scopes: ['admin'] }));
  await assert.rejects(authenticate(), refused);
  assert.deepEqual(reports, []);
});

test('an application that throws makes it 503, and its words stay inside', async () => {
  const failures: (() => unknown)[] = [
    () => {
      throw new Error('db password is hunter2');
    },
    () => Promise.reject(new TypeError('db password is hunter2')),
    () => Promise.reject(undefined),
    () =>
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('db password is hunter2');
          },
        },
      ),
  ];
  for (const fail of failures) {
    const { authenticate, reports } = setUp(fail);
    await assert.rejects(authenticate(), (error) => {
      assert.ok(isRdcpError(error) && error.code === 'RDCP_UNAVAILABLE');
      assert.doesNotMatch(error.message + JSON.stringify(error.details), /hunter2/);
      assert.equal(error.headers?.['Retry-After'], '1');
      return true;
    });
    assert.equal(reports.length, 1);
  }
});

test('an application that does not come back makes it 503 after five seconds', async () => {
  const { authenticate, time } = setUp(() => new Promise(() => {}));
  const answered = assert.rejects(authenticate(), failsWith('RDCP_UNAVAILABLE'));
  await time.pass(5000);
  await answered;
  assert.equal(time.pending, 0);
});

const lies: [string, unknown][] = [
  ['a text', 'ann'],
  ['true', true],
  ['a list', [RESULT]],
  ['a number', 1],
  ['an empty object', {}],
  ['valid as a text', { ...RESULT, valid: 'true' }],
  ['valid as a number', { ...RESULT, valid: 1 }],
  ['a foreign scope', { ...RESULT, scopes: ['status', 'root'] }],
  ['scopes as a text', { ...RESULT, scopes: 'admin' }],
  ['no scopes', { ...RESULT, scopes: undefined }],
  ['an unknown method', { ...RESULT, method: 'basic' }],
  ['no method', { ...RESULT, method: undefined }],
  ['no user', { ...RESULT, userId: undefined }],
  ['an empty user', { ...RESULT, userId: '' }],
  ['a user that breaks a log line', { ...RESULT, userId: 'ann\nadmin' }],
  ['a user that is too long', { ...RESULT, userId: 'x'.repeat(256) }],
  ['a tenant that is no identifier', { ...RESULT, tenantId: '*' }],
  ['a tenant that is null', { ...RESULT, tenantId: null }],
  ['an expiry as a number', { ...RESULT, expiresAt: 1 }],
  ['an expiry without milliseconds', { ...RESULT, expiresAt: '2030-01-01T00:00:00Z' }],
  ['a client that is no identifier', { ...RESULT, metadata: { clientId: 'a b' } }],
  ['metadata that is a text', { ...RESULT, metadata: 'x' }],
];
for (const [what, lie] of lies) {
  test(`an answer that is ${what} is refused as a whole, and reported`, async () => {
    const { authenticate, reports } = setUp(() => lie);
    await assert.rejects(authenticate(), refused);
    assert.equal(reports.length, 1);
    assert.match(reports[0]?.message ?? '', /^security\.authenticate: /);
  });
}

test('an answer of the application that the schema does not allow admits no request', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.anything(), fc.record(mutated())), async (answer) => {
      const { authenticate } = setUp(() => answer);
      try {
        const principal = await authenticate();
        if (principal === undefined) return;
        assert.ok(principal.scopes.every((scope) => SCOPES.includes(scope)));
        assert.match(principal.userId, /^[^\p{C}\p{Zl}\p{Zp}]{1,255}$/u);
      } catch (error) {
        assert.ok(isRdcpError(error) && ['RDCP_AUTH_FAILED', 'RDCP_UNAVAILABLE'].includes(error.code), String(error));
      }
    }),
    { numRuns: 500 },
  );
});

/** Each field as it should be, or anything. */
function mutated(): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(
    Object.entries(RESULT).map(([name, value]) => [name, fc.oneof(fc.constant(value), fc.anything())]),
  );
}

test('a certificate that an application speaks of must be on the connection', async () => {
  for (const method of ['mtls', 'hybrid']) {
    const { authenticate } = setUp(() => ({ ...RESULT, method }));
    await assert.rejects(authenticate(), failsWith('RDCP_AUTH_FAILED', 'invalid_certificate'));
    const bad = { ...manyNames, authorized: false };
    await assert.rejects(authenticate({}, bad), failsWith('RDCP_AUTH_FAILED', 'invalid_certificate'));
    assert.equal((await authenticate({}, manyNames))?.method, method);
  }
});

test('at level enterprise an application cannot do without a certificate either', async () => {
  for (const method of ['bearer', 'api-key']) {
    const { authenticate } = setUp(() => ({ ...RESULT, method }), true);
    await assert.rejects(authenticate(), failsWith('RDCP_AUTH_FAILED', 'invalid_certificate'));
    await assert.rejects(authenticate({}, manyNames), failsWith('RDCP_AUTH_FAILED', 'invalid_certificate'));
  }
  const { authenticate } = setUp(() => ({ ...RESULT, method: 'hybrid' }), true);
  assert.equal((await authenticate({}, manyNames))?.userId, 'ann');
});

test('an access that is over is refused as expired', async () => {
  const { authenticate, time } = setUp(() => RESULT);
  time.setWall(Date.parse(RESULT.expiresAt) - 1);
  assert.equal((await authenticate())?.userId, 'ann');
  time.setWall(Date.parse(RESULT.expiresAt));
  await assert.rejects(authenticate(), failsWith('RDCP_AUTH_FAILED', 'token_expired'));
});

test('the method that a request names must be the one that the application found', async () => {
  const { authenticate } = setUp(() => RESULT);
  assert.equal((await authenticate({ 'x-rdcp-auth-method': 'bearer' }))?.userId, 'ann');
  await assert.rejects(
    authenticate({ 'x-rdcp-auth-method': 'api-key' }),
    failsWith('RDCP_AUTH_FAILED', 'method_mismatch'),
  );
});
