import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { TOKEN_PATHS } from '../../src/wire/constants.ts';
import { AUDIENCE, claims, ISSUER, SECRET, secretBytes, sign } from '../auth/tokens.ts';
import { newFolder } from '../support/folder.ts';
import { KEYS, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { virtualTimers } from '../support/virtual-time.ts';
import {
  ACCESS_TOKEN,
  askToken,
  exchangeKey,
  post,
  refresh,
  session,
  startTokenServer,
  TOKEN_EXCHANGE,
  type TokenAnswer,
} from './tokens.ts';

test('a token that is not known is revoked without an error, and ends nothing', async (t) => {
  const server = await startTokenServer(t);
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

/** Keys in a file, as a service has them that revokes one. */
function keysFile(t: TestContext, ...names: ('operator' | 'status')[]) {
  const directory = newFolder(t);
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

const MINUTE = 60_000;
/** When an access token of 15 minutes is refused as expired: clocks may differ by a minute. */
const TOKEN_END = 16 * MINUTE;

/** The refresh token of `first` was exchanged for `second`. */
type Began = Readonly<Record<'first' | 'second', TokenAnswer>> & { server: TestServer; removeKey(): Promise<void> };
const logout = ({ server }: Began, token: string) => post(server, TOKEN_PATHS.revoke, { token });
const reuse = ({ server, first }: Began, fields = {}) => refresh(server, first.refresh_token, fields);

const ENDINGS: Readonly<Record<string, (session: Began) => unknown>> = {
  'logout with the access token': (session) => logout(session, session.second.access_token),
  'logout with the refresh token': (session) => logout(session, session.second.refresh_token),
  'reuse of a refresh token': (session) => reuse(session),
  'reuse by another client': (session) => reuse(session, { client_id: 'thief' }),
  'reuse for a scope that does not exist': (session) => reuse(session, { scope: 'everything' }),
  'removal of the API key': ({ removeKey }) => removeKey(),
};

const exchangeToken = (server: TestServer, token: string) =>
  askToken(server, { grant_type: TOKEN_EXCHANGE, subject_token: token, subject_token_type: ACCESS_TOKEN });

for (const [ending, end] of Object.entries(ENDINGS)) {
  test(`after ${ending}, every process refuses the tokens of the session, and no others, until they expire`, async (t) => {
    const time = virtualTimers(t);
    const store = { ...createMemoryStore(), close: async () => undefined };
    const { file, write } = keysFile(t, 'operator', 'status');
    const start = () => startTokenServer(t, { apiKeys: { file } }, { store, clock: time.clock });
    const [server, other] = [await start(), await start()];
    const { body: bystander } = await exchangeKey(server, 'status');
    const { body: first } = await exchangeKey(server, 'operator');
    const { body: second } = await refresh(server, first.refresh_token);
    const { body: derived } = await exchangeToken(server, second.access_token);
    const issuedAt = time.clock.now();
    const removeKey = async () => {
      write('status');
      await time.pass(500);
      for (const each of [server, other]) {
        await until('the keys file is read', async () => (await exchangeKey(each, 'operator')).status === 400);
      }
    };
    await end({ server, first, second, removeKey });
    assert.equal((await session(server, second.access_token)).status, 401, 'at once');
    for (const each of [server, other]) {
      for (const { refresh_token: token } of [second, derived]) assert.equal((await refresh(each, token)).status, 400);
    }
    for (const at of [1000, MINUTE, 3 * MINUTE, TOKEN_END - 1000]) {
      // Polls once at the end, not twice a second.
      time.suspend(issuedAt + at - 500 - time.clock.now());
      await time.pass(500);
      const processes = { 'the same process': server, 'another process': other, 'a new process': await start() };
      for (const [name, each] of Object.entries(processes)) {
        const message = `${name}, after ${at / 1000} s`;
        for (const { access_token: token } of [first, second, derived]) {
          assert.equal((await session(each, token)).status, 401, message);
        }
        assert.equal((await refresh(each, derived.refresh_token)).status, 400, message);
        assert.equal((await session(each, bystander.access_token)).status, 200, message);
      }
    }
  });
}

test('a session ends with the credential that it was begun with', async (t) => {
  const time = virtualTimers(t);
  const jwt = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256' as const], secret: SECRET };
  const server = await startTokenServer(t, { jwt }, { clock: time.clock });
  const now = time.clock.now() / 1000;
  const end = now + 300;
  const token = await sign(secretBytes(), { alg: 'HS256' }, claims({ iat: now, exp: end }));
  let { body } = await exchangeToken(server, token);
  for (const left of [300, 60, 1]) {
    time.suspend((end - left) * 1000 - time.clock.now());
    ({ body } = await refresh(server, body.refresh_token));
    assert.equal(body.expires_in, left);
  }
  time.suspend(1000);
  assert.equal((await refresh(server, body.refresh_token)).status, 400);
});
