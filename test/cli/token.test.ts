import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { SessionResponse } from '../../src/wire/messages.ts';
import { bearer, startTokenServer } from '../server/tokens.ts';
import { newFolder } from '../support/folder.ts';
import { KEYS, type TestServer } from '../support/server.ts';
import { type Expected, rdcp, rdcpProcess, saying } from './run.ts';

/** A service that issues tokens, and the command before it, with the operator's key. */
async function setUp(t: TestContext) {
  const server = await startTokenServer(t);
  const cwd = newFolder(t);
  const options = { cwd, env: { RDCP_API_KEY: KEYS.operator } };
  const says = (line: string, out?: RegExp | string, more: Expected = {}) =>
    saying(rdcp)(`${line} --url ${server.url}`, out, { ...options, ...more });
  const process = (...args: string[]) => rdcpProcess([...args, '--url', server.url], options);
  const text = (file: string) => readFileSync(file, 'utf8').trim();
  return { server, cwd, session: join(cwd, 'session'), token: join(cwd, 'token'), says, process, text };
}

const sessionOf = (server: TestServer, token: string) =>
  server.request<SessionResponse>('/rdcp/v1/session', { headers: bearer(token) });

test('token create prints a token that does less than the key, to be used in its place', async (t) => {
  const { server, token, says } = await setUp(t);
  const err = 'Valid for 15m; scopes status.\n';
  const { stdout } = await says('token create --scopes status', /^[\w-]+\.[\w-]+\.[\w-]+\n$/, { err });
  assert.deepEqual((await sessionOf(server, stdout.trim())).body.scopes, ['status']);
  writeFileSync(token, stdout);
  await says(`status --token-file ${token}`);
  await says(`enable HTTP --token-file ${token}`, '', { code: 1, err: /^rdcp: RDCP_FORBIDDEN: / });
  const fewer = /^rdcp: RDCP_FORBIDDEN: .*\(error: invalid_scope; request fewer scopes with --scopes\)$/m;
  await says(`token create --token-file ${token} --scopes control`, '', { code: 1, err: fewer });
});

test('a session is kept in a private file, refreshed from it, and ended by it', async (t) => {
  const { server, cwd, session, says, text } = await setUp(t);
  const keep = `--refresh-file ${session}`;
  const created = await says(`token create ${keep}`);
  assert.equal(statSync(session).mode & 0o777, 0o600);
  const first = text(session);
  assert.match(first, /^rdcp_rt_\S+$/);

  const refreshed = await says(`token refresh ${keep} --scopes control,status`);
  assert.deepEqual((await sessionOf(server, refreshed.stdout.trim())).body.scopes, ['status', 'control']);
  assert.notEqual(text(session), first);
  for (const { stdout, stderr } of [created, refreshed]) {
    assert.equal(`${stdout}${stderr}`.includes('rdcp_rt_'), false);
  }

  const revoked = 'Revoked. If the token had a session, the session has ended.\n';
  await says(`token revoke ${keep}`, '', { err: revoked });
  assert.equal((await sessionOf(server, refreshed.stdout.trim())).status, 401);
  const ended =
    /^rdcp: RDCP_AUTH_FAILED: .*\(error: invalid_grant; the session has ended: start another with rdcp token create\)$/m;
  await says(`token refresh ${keep}`, '', { code: 1, err: ended });
  assert.deepEqual(readdirSync(cwd), ['session']);
});

test('two at once do not use one refresh token twice', async (t) => {
  const { server, session, says, process } = await setUp(t);
  await says(`token create --refresh-file ${session}`);
  const both = await Promise.all([0, 1].map(() => process('token', 'refresh', '--refresh-file', 'session')));
  for (const { code, stdout, stderr } of both) {
    assert.equal(code, 0, stderr);
    assert.equal((await sessionOf(server, stdout.trim())).status, 200);
  }
});

test('where the refresh token cannot be kept no session is begun', async (t) => {
  const { server, cwd, says } = await setUp(t);
  await says(`token create --refresh-file ${join(cwd, 'no/such/place')}`, '', { code: 1 });
  const { body } = await server.request<{ entries: unknown[] }>('/rdcp/v1/audit?action=token.issue', { key: 'admin' });
  assert.equal(body.entries.length, 0);
});
