import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { TOKEN_PATHS } from '../../src/protocol/constants.ts';
import type { AuditResponse, WellKnownDocument } from '../../src/protocol/messages.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { KEYS } from '../support/server.ts';
import {
  ACCESS_TOKEN,
  askToken,
  basic,
  bearer,
  exchangeKey,
  post,
  refresh,
  session,
  startTokenServer,
  TOKEN_EXCHANGE,
  type TokenAnswer,
  tokenSettings,
} from './tokens.ts';

const credentials = { grant_type: 'client_credentials' };
const operator = { client_id: 'operator-client', client_secret: KEYS.operator };

test('an API key is the secret of its client, by Basic or in the body', async (t) => {
  const server = await startTokenServer(t);
  const answers = [
    await askToken(server, credentials, basic('operator-client', KEYS.operator)),
    await askToken(server, { ...credentials, ...operator }),
  ];
  for (const { status, headers, body } of answers) {
    assert.equal(status, 200);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(body.protocol, 'rdcp/1.0');
    assert.equal(body.token_type, 'Bearer');
    assert.equal(body.expires_in, 900);
    assert.equal(body.scope, 'discovery status control');
    assert.equal('refresh_token' in body, false);
    const { body: who } = await session(server, body.access_token);
    assert.deepEqual(
      [who.method, who.userId, who.scopes],
      ['bearer', 'operator-client', ['discovery', 'status', 'control']],
    );
    assert.equal(who.sessionId, decodeJwt(body.access_token).sid);
    assert.equal(Date.parse(who.expiresAt ?? ''), (decodeJwt(body.access_token).exp ?? 0) * 1000);
  }
});

test('a token has the claims of RFC 9068 and nothing secret', async (t) => {
  const server = await startTokenServer(t);
  const { body } = await askToken(server, { ...credentials, ...operator });
  assert.deepEqual(decodeProtectedHeader(body.access_token), { alg: 'HS256', typ: 'at+jwt' });
  const { iat = 0, exp = 0, sid, jti, ...rest } = decodeJwt(body.access_token);
  assert.equal(exp - iat, 900);
  assert.match(String(sid), /^[\w-]{22}$/);
  assert.match(String(jti), /^[\w-]{22}$/);
  assert.deepEqual(rest, {
    iss: tokenSettings.issuer,
    aud: 'rdcp',
    sub: 'operator-client',
    client_id: 'operator-client',
    scope: 'discovery status control',
    otelrdcp_key: 'operator',
  });
});

test('a session is narrower than its key, and a token of a session narrower again', async (t) => {
  const server = await startTokenServer(t);
  const { status, body } = await exchangeKey(server, 'admin', { scope: 'control status' });
  assert.equal(status, 200);
  assert.equal(body.scope, 'status control');
  assert.equal(body.issued_token_type, ACCESS_TOKEN);
  assert.match(body.refresh_token, /^rdcp_rt_/);

  const narrower = await askToken(server, {
    grant_type: TOKEN_EXCHANGE,
    subject_token: body.access_token,
    subject_token_type: ACCESS_TOKEN,
    scope: 'status',
  });
  assert.equal(narrower.body.scope, 'status');
  const control = { method: 'POST', body: { action: 'status' } };
  const allowed = await server.request('/rdcp/v1/control', { ...control, headers: bearer(body.access_token) });
  assert.equal(allowed.status, 200);
  const refused = await server.request('/rdcp/v1/control', { ...control, headers: bearer(narrower.body.access_token) });
  assert.equal(refused.status, 403);
  // It lasts no longer than the token that it was made from, and ends with its session.
  assert.ok((decodeJwt(narrower.body.access_token).exp ?? 0) <= (decodeJwt(body.access_token).exp ?? 0));
  await post(server, TOKEN_PATHS.revoke, { token: body.refresh_token });
  assert.equal((await session(server, narrower.body.access_token)).status, 401);
  assert.equal((await refresh(server, narrower.body.refresh_token)).status, 401);
});

test('no grant gives a scope that the credential has not', async (t) => {
  const server = await startTokenServer(t);
  const { body: own } = await exchangeKey(server, 'operator', { scope: 'status' });
  const attempts = [
    exchangeKey(server, 'operator', { scope: 'admin' }),
    exchangeKey(server, 'status', { scope: 'status control' }),
    askToken(server, { ...credentials, ...operator, scope: 'admin' }),
    refresh(server, own.refresh_token, { scope: 'control' }),
    askToken(server, {
      grant_type: TOKEN_EXCHANGE,
      subject_token: own.access_token,
      subject_token_type: ACCESS_TOKEN,
      scope: 'control',
    }),
  ];
  for (const attempt of attempts) {
    const { status, body } = await attempt;
    const { error } = body as unknown as { error: { code: string; details: Record<string, unknown> } };
    assert.deepEqual([status, error.code], [403, 'RDCP_FORBIDDEN']);
    assert.equal(error.details.error, 'invalid_scope');
    assert.equal(error.details.reason, 'insufficient_scopes');
  }
  // None of them has spent the refresh token.
  assert.equal((await refresh(server, own.refresh_token)).status, 200);
});

test('a refresh token is replaced by each use, and each access token may have fewer scopes', async (t) => {
  const server = await startTokenServer(t);
  let { body } = await exchangeKey(server, 'operator');
  const sessionId = decodeJwt(body.access_token).sid;
  const seen = new Set<string>();
  for (const scope of ['status', 'discovery status control', 'control']) {
    seen.add(body.refresh_token);
    ({ body } = await refresh(server, body.refresh_token, { scope }));
    assert.equal(body.scope, scope);
    assert.equal(decodeJwt(body.access_token).sid, sessionId);
    assert.equal((await session(server, body.access_token)).status, 200);
  }
  assert.equal(seen.has(body.refresh_token), false);
  assert.equal(seen.size, 3);
});

test('the store holds no token, only the hash of the one that is in force', async (t) => {
  const store = createMemoryStore();
  const begun: string[] = [];
  const { tokens } = store;
  assert.ok(tokens);
  const recording = {
    ...store,
    tokens: {
      ...tokens,
      begin: (kept: Parameters<typeof tokens.begin>[0], now: number) => {
        begun.push(JSON.stringify(kept));
        return tokens.begin(kept, now);
      },
    },
  };
  const server = await startTokenServer(t, {}, { store: recording });
  const { body } = await exchangeKey(server, 'operator');
  const [kept = ''] = begun;
  const secret = body.refresh_token.split('.')[1] ?? '';
  assert.equal(secret.length, 43);
  for (const part of [body.refresh_token, secret, body.access_token, KEYS.operator]) assert.ok(!kept.includes(part));
  assert.ok(kept.includes(createHash('sha256').update(body.refresh_token).digest('base64url')));
});

test('a refresh token that is used again ends its session, access tokens and all, and the trail says so', async (t) => {
  const server = await startTokenServer(t);
  const { body: first } = await exchangeKey(server, 'operator');
  const { body: second } = await refresh(server, first.refresh_token);
  const { body: bystander } = await exchangeKey(server, 'operator');
  assert.equal((await session(server, second.access_token)).status, 200);

  const stolen = await refresh<{ error: { code: string; details: object } }>(server, first.refresh_token);
  assert.equal(stolen.status, 401);
  assert.deepEqual(
    [stolen.body.error.code, stolen.body.error.details],
    ['RDCP_AUTH_FAILED', { reason: 'invalid_token', error: 'invalid_grant' }],
  );
  for (const { access_token: token } of [first, second]) {
    const { status, body } = await session(server, token);
    assert.deepEqual([status, body.error.details?.reason], [401, 'invalid_token']);
  }
  assert.equal((await refresh(server, second.refresh_token)).status, 401);
  assert.equal((await session(server, bystander.access_token)).status, 200);

  const { body: trail } = await server.request<AuditResponse>('/rdcp/v1/audit?action=token.reuse', { key: 'admin' });
  assert.equal(trail.entries.length, 1);
  const [entry] = trail.entries;
  assert.equal(entry?.outcome, 'denied');
  assert.equal(entry?.identity.clientId, 'operator-client');
  assert.equal(entry?.identity.sessionId, decodeJwt(first.access_token).sid);
  assert.equal(entry?.error, 'RDCP_AUTH_FAILED');
});

test('of fifty uses of one refresh token at once exactly one wins, and the session is revoked', async (t) => {
  const server = await startTokenServer(t);
  const { body: first } = await exchangeKey(server, 'operator');
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(server, first.refresh_token)));
  const winners = answers.filter(({ status }) => status === 200);
  assert.equal(winners.length, 1);
  assert.equal(answers.filter(({ status }) => status === 401).length, 49);
  const won = winners[0]?.body as TokenAnswer;
  for (const token of [first.access_token, won.access_token]) assert.equal((await session(server, token)).status, 401);
  assert.equal((await refresh(server, won.refresh_token)).status, 401);
  const { body: trail } = await server.request<AuditResponse>('/rdcp/v1/audit', { key: 'admin' });
  const count = (action: string) => trail.entries.filter((entry) => entry.action === action).length;
  assert.deepEqual([count('token.issue'), count('token.refresh'), count('token.reuse')], [1, 1, 1]);
});

test('what was issued, refreshed and revoked is in the trail, with whom and from where', async (t) => {
  const server = await startTokenServer(t);
  const { body } = await exchangeKey(server, 'operator', { scope: 'status' });
  const next = await refresh(server, body.refresh_token);
  await post(server, TOKEN_PATHS.revoke, { token: next.body.access_token }, { 'X-RDCP-Request-ID': 'revoking' });
  await post(server, TOKEN_PATHS.revoke, { token: next.body.access_token });
  const { body: trail } = await server.request<AuditResponse>('/rdcp/v1/audit', { key: 'admin' });
  const entries = trail.entries.filter(({ action }) => action.startsWith('token.'));
  assert.deepEqual(
    entries.map(({ action, outcome }) => [action, outcome]),
    [
      ['token.revoke', 'success'],
      ['token.refresh', 'success'],
      ['token.issue', 'success'],
    ],
  );
  for (const entry of entries) {
    assert.equal(entry.identity.userId, 'operator-client');
    assert.equal(entry.identity.sessionId, decodeJwt(body.access_token).sid);
    assert.deepEqual(entry.identity.scopes, ['status']);
    assert.equal(entry.source?.address, '127.0.0.1');
    assert.deepEqual([entry.categories, entry.changes], [[], []]);
  }
  assert.equal(entries[0]?.requestId, 'revoking');
  const written = JSON.stringify(trail);
  for (const secret of [body.access_token, body.refresh_token, next.body.refresh_token, KEYS.operator]) {
    assert.ok(!written.includes(secret));
  }
});

test('revoking either token ends the session; a token that is not known is no error', async (t) => {
  const server = await startTokenServer(t);
  for (const which of ['access_token', 'refresh_token'] as const) {
    const { body } = await exchangeKey(server, 'operator');
    const revoked = await post(server, TOKEN_PATHS.revoke, { token: body[which], token_type_hint: 'nonsense' });
    assert.equal(revoked.status, 200);
    assert.equal((await session(server, body.access_token)).status, 401);
    assert.equal((await refresh(server, body.refresh_token)).status, 401);
    assert.equal((await post(server, TOKEN_PATHS.revoke, { token: body[which] })).status, 200);
  }
  const { body } = await exchangeKey(server, 'operator');
  const [head = '', payload = ''] = body.access_token.split('.');
  const unknown = [
    'x',
    'a.b.c',
    KEYS.operator,
    `${head}.${payload}.AAAA`,
    body.refresh_token.replace(/.{22}$/, 'A'.repeat(22)),
    body.refresh_token.slice(0, -1),
    `rdcp_rt_${'A'.repeat(22)}.${'A'.repeat(43)}.${'A'.repeat(22)}`,
    'x'.repeat(60_000),
  ];
  for (const token of unknown) {
    assert.equal((await post(server, TOKEN_PATHS.revoke, { token })).status, 200, token.slice(0, 40));
  }
  assert.equal((await session(server, body.access_token)).status, 200, 'nothing of it has ended the session');
  assert.equal((await refresh(server, body.refresh_token)).status, 200);
});

test('a client that says who it is revokes its own tokens alone', async (t) => {
  const server = await startTokenServer(t);
  const { body } = await exchangeKey(server, 'operator');
  const other = basic('status-client', KEYS.status);
  const refused = await post(server, TOKEN_PATHS.revoke, { token: body.refresh_token }, other);
  assert.equal(refused.status, 403);
  const wrong = await post(server, TOKEN_PATHS.revoke, { token: body.refresh_token }, basic('operator-client', 'x'));
  assert.equal(wrong.status, 401);
  assert.equal((await session(server, body.access_token)).status, 200);
  await post(server, TOKEN_PATHS.revoke, { token: body.refresh_token }, basic('operator-client', KEYS.operator));
  assert.equal((await session(server, body.access_token)).status, 401);
});

test('a token that was made up for a known session does not end it', async (t) => {
  const server = await startTokenServer(t);
  const { body } = await exchangeKey(server, 'operator');
  const sessionId = String(decodeJwt(body.access_token).sid);
  const madeUp = [
    `rdcp_rt_${sessionId}.${'A'.repeat(43)}.${'A'.repeat(22)}`,
    body.refresh_token.replace(/\.[\w-]{43}\./, `.${'A'.repeat(43)}.`),
    body.refresh_token.replace(/.{22}$/, 'A'.repeat(22)),
  ];
  for (const token of madeUp) assert.equal((await refresh(server, token)).status, 401);
  assert.equal((await session(server, body.access_token)).status, 200);
  assert.equal((await refresh(server, body.refresh_token)).status, 200);
});

test('a session ends in every process that shares the store within a second', async (t) => {
  const store = createMemoryStore();
  const shared = { ...store, close: async () => undefined };
  const [here, there] = [
    await startTokenServer(t, {}, { store: shared }),
    await startTokenServer(t, {}, { store: shared }),
  ];
  const { body } = await exchangeKey(here, 'operator');
  assert.equal((await session(there, body.access_token)).status, 200);
  await post(here, TOKEN_PATHS.revoke, { token: body.refresh_token });
  assert.equal((await session(here, body.access_token)).status, 401);
  assert.equal((await refresh(there, body.refresh_token)).status, 401);
  const revokedAt = performance.now();
  while ((await session(there, body.access_token)).status !== 401) {
    assert.ok(performance.now() - revokedAt < 2000, 'still accepted');
  }
});

/** Keys in a file, as a service has them that revokes one. */
function keysFile(t: TestContext, ...names: ('operator' | 'status')[]) {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-token-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'keys.json');
  const write = (...kept: string[]) => {
    const keys = kept.map((id) => ({
      id,
      hash: `sha256:${createHash('sha256')
        .update(KEYS[id as 'operator'])
        .digest('hex')}`,
      clientId: `${id}-client`,
      scopes: ['status', 'control'],
    }));
    writeFileSync(file, JSON.stringify({ keys }));
  };
  write(...names);
  return { file, write };
}

test('with an API key end the tokens that were issued for it', async (t) => {
  const { file, write } = keysFile(t, 'operator', 'status');
  const server = await startTokenServer(t, { apiKeys: { file } });
  const { body } = await exchangeKey(server, 'operator');
  const { body: other } = await exchangeKey(server, 'status');
  assert.equal((await session(server, body.access_token)).status, 200);
  write('status');
  const revokedAt = performance.now();
  while ((await session(server, body.access_token)).status !== 401) {
    assert.ok(performance.now() - revokedAt < 2000, 'still accepted');
  }
  assert.equal((await refresh(server, body.refresh_token)).status, 401);
  assert.equal((await session(server, other.access_token)).status, 200);
});

test('when the trail cannot be written nothing is handed out, and nothing is left behind', async (t) => {
  let broken = false;
  const server = await startTokenServer(
    t,
    {},
    {
      wrap: ({ record }) => ({ record: (draft) => (broken ? Promise.reject(new Error('disk full')) : record(draft)) }),
    },
  );
  const { body } = await exchangeKey(server, 'operator');
  broken = true;
  const refused = await exchangeKey(server, 'operator');
  assert.deepEqual(
    [refused.status, (refused.body as unknown as { error: { code: string } }).error.code],
    [500, 'RDCP_AUDIT_WRITE_FAILED'],
  );
  assert.ok(!refused.text.includes('eyJ') && !refused.text.includes('disk full'));
  assert.equal((await refresh(server, body.refresh_token)).status, 500);
  broken = false;
  assert.equal((await session(server, body.access_token)).status, 401, 'the session of the lost token has ended');
});

test('when the records cannot be reached it is 503, and the refresh token is not spent', async (t) => {
  const store = createMemoryStore();
  let away = false;
  const { tokens } = store;
  assert.ok(tokens);
  const fragile = new Proxy(tokens, {
    get: (target, name) => (away ? () => Promise.reject(new Error('away')) : Reflect.get(target, name)),
  });
  const server = await startTokenServer(t, {}, { store: { ...store, tokens: fragile } });
  const { body } = await exchangeKey(server, 'operator');
  away = true;
  for (const answer of [await exchangeKey(server, 'operator'), await refresh(server, body.refresh_token)]) {
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '1');
  }
  assert.equal((await post(server, TOKEN_PATHS.revoke, { token: body.refresh_token })).status, 503);
  assert.equal((await session(server, body.access_token)).status, 200, 'what is known of revocations stays in force');
  away = false;
  assert.equal((await refresh(server, body.refresh_token)).status, 200);
});

test('the well-known document names the endpoints of tokens that this server has', async (t) => {
  const { body: with_ } = await (await startTokenServer(t)).request<WellKnownDocument>('/.well-known/rdcp');
  assert.equal(with_.security.tokenRefresh, true);
  assert.deepEqual(with_.security.methods, ['api-key', 'bearer']);
  assert.equal(with_.otelrdcp_endpoints.token, TOKEN_PATHS.token);
  assert.equal(with_.otelrdcp_endpoints.revoke, TOKEN_PATHS.revoke);
  assert.equal('jwks' in with_.otelrdcp_endpoints, false);
  const without = await startTokenServer(t, { level: 'basic', tokens: undefined });
  const { body } = await without.request<WellKnownDocument>('/.well-known/rdcp');
  assert.equal(body.security.tokenRefresh, false);
  assert.equal('token' in body.otelrdcp_endpoints, false);
  for (const path of Object.values(TOKEN_PATHS)) {
    const { status, body: refused } = await post(without, path, { grant_type: 'client_credentials' });
    assert.deepEqual([status, refused.error.code], [404, 'RDCP_NOT_FOUND']);
  }
});

/** A file of signing keys, and the way to replace it. */
function signingKeys(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-signing-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const signingKeyFile = join(directory, 'signing.pem');
  const make = (kind: 'rsa' | 'ec' | 'ed25519') => {
    const { privateKey } =
      kind === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : kind === 'ec'
          ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
          : generateKeyPairSync('ed25519');
    return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  };
  return { signingKeyFile, make, write: (...pems: string[]) => writeFileSync(signingKeyFile, pems.join('\n')) };
}

test('tokens can be verified by anybody with the published keys', async (t) => {
  const { signingKeyFile, make, write } = signingKeys(t);
  for (const [kind, alg] of [
    ['rsa', 'RS256'],
    ['ec', 'ES256'],
    ['ed25519', 'EdDSA'],
  ] as const) {
    write(make(kind));
    const { secret: _, ...settings } = tokenSettings;
    const server = await startTokenServer(t, { tokens: { ...settings, signingKeyFile } });
    const { body } = await exchangeKey(server, 'operator');
    assert.equal(decodeProtectedHeader(body.access_token).alg, alg);
    assert.equal((await session(server, body.access_token)).status, 200);
    const { status, text, body: set } = await server.request<JSONWebKeySet>(TOKEN_PATHS.jwks);
    assert.equal(status, 200);
    assert.equal(set.keys.length, 1);
    assert.ok(!/"(?:d|p|q|dp|dq|qi|k)":/.test(text), 'nothing private is published');
    const keys = createRemoteJWKSet(new URL(TOKEN_PATHS.jwks, server.url));
    const { payload } = await jwtVerify(body.access_token, keys, { issuer: settings.issuer, audience: 'rdcp' });
    assert.equal(payload.sub, 'operator-client');
    const { body: document } = await server.request<WellKnownDocument>('/.well-known/rdcp');
    assert.equal(document.otelrdcp_endpoints.jwks, TOKEN_PATHS.jwks);
  }
});

test('after the signing key was replaced new tokens have the new key, and old ones are good until they expire', async (t) => {
  const { signingKeyFile, make, write } = signingKeys(t);
  const [old, next] = [make('ec'), make('rsa')];
  write(old);
  const { secret: _, ...settings } = tokenSettings;
  const server = await startTokenServer(t, { tokens: { ...settings, signingKeyFile } });
  const { body: before } = await exchangeKey(server, 'operator');
  const { kid } = decodeProtectedHeader(before.access_token);
  write(next);
  const replacedAt = performance.now();
  let after = before;
  while (decodeProtectedHeader(after.access_token).kid === kid) {
    assert.ok(performance.now() - replacedAt < 2000, 'still signed with the old key');
    ({ body: after } = await exchangeKey(server, 'operator'));
  }
  assert.equal((await session(server, before.access_token)).status, 200);
  assert.equal((await session(server, after.access_token)).status, 200);
  const { body: set } = await server.request<JSONWebKeySet>(TOKEN_PATHS.jwks);
  assert.deepEqual(
    set.keys.map((key) => key.alg),
    ['RS256', 'ES256'],
  );
});

test('each client has its limit, and so has each address', async (t) => {
  const server = await startTokenServer(t, {}, { config: { limits: { controlPerMinute: 2, readPerMinute: 6 } } });
  for (const expected of [200, 200, 429]) {
    const { status, headers } = await askToken(server, { ...credentials, ...operator });
    assert.equal(status, expected);
    if (status === 429) assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  }
  const status = { ...credentials, client_id: 'status-client', client_secret: KEYS.status };
  for (const expected of [200, 200, 429, 429]) assert.equal((await askToken(server, status)).status, expected);
  const again = await askToken<{ error: { code: string } }>(server, {
    ...credentials,
    client_id: 'discovery-client',
    client_secret: KEYS.discovery,
  });
  assert.deepEqual(
    [again.status, again.body.error.code],
    [429, 'RDCP_RATE_LIMITED'],
    'the address has spent its quota',
  );
});

test('wrong credentials are limited as wrong credentials in a header are', async (t) => {
  const server = await startTokenServer(t, {}, { config: { limits: { anonymousPerMinute: 2 } } });
  const wrong = { ...credentials, client_id: 'operator-client', client_secret: 'x'.repeat(40) };
  for (const expected of [401, 401, 429]) assert.equal((await askToken(server, wrong)).status, expected);
  assert.equal((await askToken(server, { ...credentials, ...operator })).status, 200);
});
