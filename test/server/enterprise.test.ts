import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:https';
import { type TestContext, test } from 'node:test';
import { decodeJwt } from 'jose';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { ErrorResponse, SessionResponse, WellKnownDocument } from '../../src/wire/messages.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { type Certificate, createAuthority, writePems } from '../support/certificate.ts';
import { portOf } from '../support/listening.ts';
import { startService } from '../support/service.ts';
import { getOverTls, http2Request, http2Session } from '../support/tls-client.ts';
import { ACCESS_TOKEN, TOKEN_EXCHANGE, type TokenAnswer, tokenSettings } from './tokens.ts';

const authority = createAuthority();
const server = authority.issue('localhost', { usage: 'server' });
const robot = authority.issue('robot', { usage: 'client' });
const stranger = authority.issue('stranger', { usage: 'client' });
const KEY = 'an-api-key-of-an-operator-made-up-for-this-test';

const files = () => writePems({ certFile: server.cert, keyFile: server.key, clientCaFile: authority.cert });

const security: RdcpConfig['security'] = {
  level: 'enterprise',
  apiKeys: [{ id: 'ops', hash: hashApiKey(KEY), clientId: 'ops', userId: 'ann', scopes: ['admin'] }],
  tokens: tokenSettings,
  mtls: { identities: [{ subject: 'CN=robot', userId: 'robot', scopes: ['status', 'control'] }] },
};

/** A whole service at level enterprise. */
async function start(t: TestContext): Promise<string> {
  return (await startService(t, { server: { port: 0, tls: files() }, security })).url;
}

interface Request {
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: object;
}

interface Answer<T> {
  readonly status: number;
  readonly challenge: string | undefined;
  readonly body: T;
}

/** Requests of one client, on a connection of its own. */
async function connectAs(t: TestContext, url: string, { cert, key }: Certificate) {
  const session = await http2Session(t, url, { ca: authority.cert, cert, key });
  return async <T = ErrorResponse>(path: string, { headers, form, json }: Request = {}): Promise<Answer<T>> => {
    const body = form === undefined ? json && JSON.stringify(json) : new URLSearchParams(form).toString();
    const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const posted = body === undefined ? {} : { ':method': 'POST', 'content-type': type };
    const answer = await http2Request(session, { ':path': path, ...posted, ...headers }, body);
    const { 'www-authenticate': challenge } = answer.headers;
    return { status: answer.status, challenge, body: JSON.parse(answer.text) as T };
  };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const exchange = { grant_type: TOKEN_EXCHANGE, subject_token: KEY, subject_token_type: ACCESS_TOKEN };

test('a mapped certificate is an identity, that switches what its scopes allow', async (t) => {
  const request = await connectAs(t, await start(t), robot);
  const { body: who } = await request<SessionResponse>(PATHS.session);
  assert.deepEqual([who.method, who.userId, who.scopes], ['mtls', 'robot', ['status', 'control']]);
  assert.equal(who.expiresAt, new X509Certificate(robot.cert).validToDate.toISOString());
  const switched = await request(PATHS.control, { json: { action: 'status' } });
  assert.equal(switched.status, 200);
  const refused = await request(PATHS.audit);
  assert.deepEqual(
    [refused.status, refused.body.error.code, refused.body.error.method],
    [403, 'RDCP_FORBIDDEN', 'mtls'],
  );
});

test('a certificate without an identity opens the connection and no more', async (t) => {
  const request = await connectAs(t, await start(t), stranger);
  for (const headers of [{}, { 'x-client-cert': robot.cert.replaceAll('\n', ' ') }, { 'x-rdcp-client-id': 'robot' }]) {
    const { status, body } = await request(PATHS.status, { headers });
    assert.deepEqual([status, body.error.code], [401, 'RDCP_AUTH_REQUIRED']);
  }
  const named = await request(PATHS.status, { headers: { 'x-rdcp-auth-method': 'mtls' } });
  assert.deepEqual([named.status, named.body.error.details?.reason], [401, 'invalid_certificate']);
});

test('an API key is not enough beside a certificate, and is what a token is given for', async (t) => {
  const request = await connectAs(t, await start(t), stranger);
  const alone = await request(PATHS.status, { headers: { 'x-rdcp-api-key': KEY } });
  assert.deepEqual([alone.status, alone.body.error.details?.reason], [401, 'invalid_certificate']);

  const { status, body } = await request<TokenAnswer>(TOKEN_PATHS.token, { form: exchange });
  assert.equal(status, 200);
  const { body: who } = await request<SessionResponse>(PATHS.session, { headers: bearer(body.access_token) });
  assert.deepEqual([who.method, who.userId, who.scopes], ['hybrid', 'ann', ['admin']]);
  const { body: trail } = await request<AuditResponse>(`${PATHS.audit}?action=token.issue`, {
    headers: bearer(body.access_token),
  });
  assert.equal(trail.entries[0]?.identity.userId, 'ann');
  assert.equal(trail.entries[0]?.compliance.securityLevel, 'enterprise');
});

test('tokens are bound to the certificate that they were asked for with, and worth nothing with another', async (t) => {
  const url = await start(t);
  const [request, other] = [await connectAs(t, url, stranger), await connectAs(t, url, robot)];
  const { body } = await request<TokenAnswer>(TOKEN_PATHS.token, { form: exchange });
  const thumbprint = new X509Certificate(stranger.cert).fingerprint256.replaceAll(':', '');
  assert.deepEqual(decodeJwt(body.access_token).cnf, {
    'x5t#S256': Buffer.from(thumbprint, 'hex').toString('base64url'),
  });

  const stolen = await other(PATHS.session, { headers: bearer(body.access_token) });
  assert.deepEqual([stolen.status, stolen.body.error.details?.reason], [401, 'invalid_token']);
  assert.equal(stolen.challenge, 'Bearer realm="rdcp", error="invalid_token"');
  const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
  const refused = await other<OAuthErrorResponse>(TOKEN_PATHS.token, { form: fields });
  assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant']);
  const exchanged = { ...exchange, subject_token: body.access_token };
  const narrowed = await other<OAuthErrorResponse>(TOKEN_PATHS.token, { form: exchanged });
  assert.deepEqual([narrowed.status, narrowed.body.error], [400, 'invalid_request']);
  // The thief's attempt has not spent it.
  const { status, body: next } = await request<TokenAnswer>(TOKEN_PATHS.token, { form: fields });
  assert.equal(status, 200);
  assert.deepEqual(decodeJwt(next.access_token).cnf, decodeJwt(body.access_token).cnf);
});

test('a mapped certificate and a token allow what both allow', async (t) => {
  const request = await connectAs(t, await start(t), robot);
  const { body } = await request<TokenAnswer>(TOKEN_PATHS.token, { form: { ...exchange, scope: 'control discovery' } });
  const { body: who } = await request<SessionResponse>(PATHS.session, {
    headers: { ...bearer(body.access_token), 'x-rdcp-auth-method': 'hybrid' },
  });
  assert.deepEqual([who.method, who.userId, who.scopes], ['hybrid', 'ann', ['control']]);
  const twoCredentials = await request(PATHS.status, { headers: { 'x-rdcp-api-key': KEY } });
  assert.equal(twoCredentials.status, 400);
});

test('an identity has one budget, whether by its key, a token made from it, a certificate or both', async (t) => {
  const identity = { subject: 'CN=robot', userId: 'ann', clientId: 'ops', scopes: ['status', 'control'] as const };
  const { url } = await startService(t, {
    server: { port: 0, tls: files() },
    security: { ...security, level: 'standard', mtls: { identities: [{ ...identity, scopes: [...identity.scopes] }] } },
    limits: { readPerMinute: 4 },
  });
  const [robotRequest, request] = [await connectAs(t, url, robot), await connectAs(t, url, stranger)];
  const { body: own } = await request<TokenAnswer>(TOKEN_PATHS.token, { form: exchange });
  const { body: robots } = await robotRequest<TokenAnswer>(TOKEN_PATHS.token, { form: exchange });
  const ways: [Certificate, Request][] = [
    [stranger, { headers: { 'x-rdcp-api-key': KEY } }],
    [stranger, { headers: bearer(own.access_token) }],
    [robot, {}],
    [robot, { headers: bearer(robots.access_token) }],
  ];
  // Each on a connection of its own: one ends with the refusal of somebody who goes on.
  const ask = async ([certificate, what]: (typeof ways)[number]) =>
    (await (await connectAs(t, url, certificate))(PATHS.status, what)).status;
  for (const way of ways) assert.equal(await ask(way), 200);
  for (const way of ways) assert.equal(await ask(way), 429);
});

test('the well-known document says what is enough here', async (t) => {
  const request = await connectAs(t, await start(t), stranger);
  const { body } = await request<WellKnownDocument>(PATHS.wellKnown);
  assert.equal(body.security.level, 'enterprise');
  assert.deepEqual(body.security.methods, ['bearer', 'mtls']);
  assert.deepEqual([body.security.keyRotation, body.security.tokenRefresh], [true, true]);
});

test('the same service mounted in an application believes the socket of the application', async (t) => {
  const rdcp = createRdcp({ server: false, security });
  t.after(() => rdcp.close());
  // Asks for certificates and lets everybody in: what is valid is left to us.
  const outer = createServer(
    { cert: server.cert, key: server.key, ca: authority.cert, requestCert: true, rejectUnauthorized: false },
    rdcp.callback(),
  );
  const port = await portOf(t, outer);
  const get = async (client?: Certificate) => {
    const tls = { ca: authority.cert, ...(client && { cert: client.cert, key: client.key }) };
    const { status, text } = await getOverTls(`https://127.0.0.1:${port}${PATHS.session}`, tls);
    return { status, body: JSON.parse(text) as SessionResponse & ErrorResponse };
  };
  assert.equal((await get(robot)).body.userId, 'robot');
  assert.equal((await get()).body.error.code, 'RDCP_AUTH_REQUIRED');
  assert.equal((await get(stranger)).body.error.code, 'RDCP_AUTH_REQUIRED');
  const forged = await get(createAuthority('Authority 1').issue('robot', { usage: 'client' }));
  assert.deepEqual([forged.status, forged.body.error.details?.reason], [401, 'invalid_certificate']);
});
