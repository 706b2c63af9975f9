import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createRdcpClient, type RdcpClientOptions } from '../../src/client.ts';
import { createTokens } from '../../src/tools/client/tokens.ts';
import { createTransport } from '../../src/tools/client/transport.ts';
import type { TokenResponse } from '../../src/wire/oauth-messages.ts';
import { tokenSettings } from '../server/tokens.ts';
import { KEYS, startServer } from '../support/server.ts';

/** A server that issues tokens, and clients of it. */
async function issuing(t: TestContext, settings: object = {}) {
  const security = { level: 'standard', tokens: { ...tokenSettings, ...settings } } as const;
  const { url } = await startServer(t, { config: { security } });
  const client = (options: Omit<RdcpClientOptions, 'baseUrl'> = {}) => createRdcpClient({ baseUrl: url, ...options });
  return { url, client, operator: client({ apiKey: KEYS.operator }) };
}

const refusedFor = (error: keyof typeof CODES, status: number) => ({
  ...{ status, code: CODES[error], serverCode: error, details: { error } },
});

/** The code of ours that a refusal of OAuth is given. */
const CODES = {
  invalid_client: 'RDCP_AUTH_FAILED',
  invalid_grant: 'RDCP_AUTH_FAILED',
  invalid_scope: 'RDCP_FORBIDDEN',
};

test('an API key is exchanged for a session with fewer scopes, which is refreshed and ended', async (t) => {
  const { client, operator } = await issuing(t);
  const begun = await operator.tokens.exchange({ scopes: ['status'] });
  assert.equal(begun.scope, 'status');
  assert.equal(begun.token_type, 'Bearer');
  assert.equal(begun.expires_in, 900);
  const narrow = client({ token: begun.access_token });
  const { method, scopes, userId } = await narrow.session();
  assert.deepEqual([method, scopes, userId], ['bearer', ['status'], 'operator-client']);
  await assert.rejects(narrow.enable('HTTP'), { code: 'RDCP_FORBIDDEN' });

  const next = await client().tokens.refresh(begun.refresh_token ?? '');
  assert.equal((await client({ token: next.access_token }).status()).enabled, true);
  await client().tokens.revoke(next.access_token);
  await assert.rejects(narrow.status(), { code: 'RDCP_AUTH_FAILED' });
  await assert.rejects(client().tokens.refresh(next.refresh_token ?? ''), refusedFor('invalid_grant', 400));
  await client().tokens.revoke('nobody’s token');
});

test('a token is exchanged for a narrower one, also where a function has it', async (t) => {
  const { client, operator } = await issuing(t);
  const { access_token: token } = await operator.tokens.exchange();
  const narrower = await client({ token: async () => token }).tokens.exchange({ scopes: ['status', 'control'] });
  assert.equal(narrower.scope, 'status control');
  await assert.rejects(client({ token }).tokens.exchange({ scopes: ['admin'] }), refusedFor('invalid_scope', 400));
});

test('client credentials are the id of the client and its API key', async (t) => {
  const { client, operator } = await issuing(t);
  const { access_token: token, refresh_token: none } = await operator.tokens.clientCredentials({
    clientId: 'operator-client',
    scopes: ['discovery'],
  });
  assert.equal(none, undefined);
  assert.deepEqual((await client({ token }).session()).scopes, ['discovery']);
  await assert.rejects(
    operator.tokens.clientCredentials({ clientId: 'somebody-else' }),
    refusedFor('invalid_client', 401),
  );
});

test('a missing credential is an error before a request is made', async () => {
  const fetch = () => assert.fail('a request');
  const bare = createRdcpClient({ baseUrl: 'http://localhost', fetch });
  await assert.rejects(bare.tokens.exchange(), TypeError);
  await assert.rejects(bare.tokens.clientCredentials({ clientId: 'ops' }), TypeError);
});

test('a credential stands in the form alone, and no error shows it', async () => {
  const seen: RequestInit[] = [];
  const fetch = async (_url: string, init: RequestInit) => {
    seen.push(init);
    return new Response('{}', { status: 500 });
  };
  const { tokens } = createRdcpClient({ baseUrl: 'http://localhost', apiKey: KEYS.operator, fetch });
  await assert.rejects(tokens.exchange(), (error: Error) => !`${error.stack}${error.cause}`.includes(KEYS.operator));
  await assert.rejects(tokens.revoke('the token'));
  for (const { headers, method } of seen) {
    assert.equal(method, 'POST');
    assert.equal(new Headers(headers).get('content-type'), 'application/x-www-form-urlencoded');
    assert.deepEqual(
      [...new Headers(headers).keys()].filter((name) => /api-key|auth/.test(name)),
      [],
    );
  }
  assert.deepEqual([...new URLSearchParams(String(seen[1]?.body))], [['token', 'the token']]);
});

test('a refusal of OAuth has a code of ours by what it says, else by its status', async () => {
  for (const [error, status, code] of [
    ['invalid_grant', 400, 'RDCP_AUTH_FAILED'],
    ['unauthorized_client', 400, 'RDCP_FORBIDDEN'],
    ['invalid_target', 400, 'RDCP_MALFORMED_REQUEST'],
    ['invalid_request', 413, 'RDCP_REQUEST_TOO_LARGE'],
    ['temporarily_unavailable', 429, 'RDCP_RATE_LIMITED'],
    ['temporarily_unavailable', 503, 'RDCP_UNAVAILABLE'],
    ['temporarily_unavailable', 504, 'RDCP_TIMEOUT'],
    ['a code of somebody else', 401, 'RDCP_AUTH_FAILED'],
  ] as const) {
    const fetch = async () => Response.json({ error }, { status, headers: { 'Retry-After': '7' } });
    const { tokens } = createRdcpClient({ baseUrl: 'http://localhost', fetch });
    const headers = { 'Retry-After': '7' };
    const expected = { code, status, serverCode: error, details: { error }, headers };
    await assert.rejects(tokens.refresh('x'), { ...expected, message: new RegExp(error) });
  }
});

test('a server without tokens is distinguished from one that refuses', async (t) => {
  const { url } = await startServer(t);
  const { tokens } = createRdcpClient({ baseUrl: url, apiKey: KEYS.operator });
  await assert.rejects(tokens.exchange(), { code: 'RDCP_NOT_FOUND' });
});

test('a session is kept fresh when nine tenths of its life are over, once however many ask, and after a failure', async () => {
  let now = 0;
  const asked: string[] = [];
  let answer: (refreshToken: string) => Response;
  const fetch = async (_url: string, { body }: RequestInit) => {
    const refreshToken = new URLSearchParams(String(body)).get('refresh_token') ?? '';
    asked.push(refreshToken);
    return answer(refreshToken);
  };
  const grant = (name: string): TokenResponse => ({
    protocol: 'rdcp/1.0',
    timestamp: '2026-01-01T00:00:00.000Z',
    access_token: `access ${name}`,
    refresh_token: `refresh ${name}`,
    token_type: 'Bearer',
    expires_in: 100,
    scope: 'status',
  });
  const tokens = createTokens(createTransport({ baseUrl: 'http://localhost', fetch }).send, {}, () => now);
  const { refresh_token: _, ...short } = grant('a');
  assert.throws(() => tokens.keptFresh(short), TypeError);

  const token = tokens.keptFresh(grant('a'));
  now = 89_999;
  assert.equal(await token(), 'access a');
  now = 90_000;
  answer = () => Response.json({}, { status: 503 });
  await assert.rejects(token(), { code: 'RDCP_UNAVAILABLE' });
  answer = () => Response.json(grant('b'));
  // Two uses of one refresh token would end the session.
  assert.deepEqual(await Promise.all([token(), token(), token()]), Array(3).fill('access b'));
  now = 180_000;
  answer = () => Response.json(grant('c'));
  assert.equal(await token(), 'access c');
  assert.deepEqual(asked, ['refresh a', 'refresh a', 'refresh b']);
});
