import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { decodeJwt } from 'jose';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { KEYS } from '../support/server.ts';
import { exchangeKey, refresh, session, startTokenServer, type TokenAnswer } from './tokens.ts';

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
  const { records } = store;
  assert.ok(records);
  const recording = {
    ...store,
    records: {
      ...records,
      write: (...written: Parameters<typeof records.write>) => {
        begun.push(JSON.stringify(written));
        return records.write(...written);
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

  const stolen = await refresh<OAuthErrorResponse>(server, first.refresh_token);
  assert.equal(stolen.status, 400);
  assert.deepEqual(stolen.body, { error: 'invalid_grant', error_description: 'The token is not valid' });
  for (const { access_token: token } of [first, second]) {
    const { status, body } = await session(server, token);
    assert.deepEqual([status, body.error.details?.reason], [401, 'invalid_token']);
  }
  assert.equal((await refresh(server, second.refresh_token)).status, 400);
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
  assert.equal(answers.filter(({ status }) => status === 400).length, 49);
  const won = winners[0]?.body as TokenAnswer;
  for (const token of [first.access_token, won.access_token]) assert.equal((await session(server, token)).status, 401);
  assert.equal((await refresh(server, won.refresh_token)).status, 400);
  const { body: trail } = await server.request<AuditResponse>('/rdcp/v1/audit', { key: 'admin' });
  const count = (action: string) => trail.entries.filter((entry) => entry.action === action).length;
  assert.deepEqual([count('token.issue'), count('token.refresh'), count('token.reuse')], [1, 1, 1]);
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
  for (const token of madeUp) assert.equal((await refresh(server, token)).status, 400);
  assert.equal((await session(server, body.access_token)).status, 200);
  assert.equal((await refresh(server, body.refresh_token)).status, 200);
});
