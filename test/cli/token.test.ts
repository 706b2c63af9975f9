import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { SessionResponse } from '../../src/wire/messages.ts';
import { bearer, startTokenServer } from '../server/tokens.ts';
import { newFolder } from '../support/folder.ts';
import { KEYS, type TestServer } from '../support/server.ts';
import { rdcp, rdcpProcess } from './run.ts';

/** A service that issues tokens, and the command before it, with the operator's key. */
async function setUp(t: TestContext) {
  const server = await startTokenServer(t);
  const cwd = newFolder(t);
  const options = { cwd, env: { RDCP_API_KEY: KEYS.operator } };
  const run = (...args: string[]) => rdcp([...args, '--url', server.url], options);
  const process = (...args: string[]) => rdcpProcess([...args, '--url', server.url], options);
  const text = (file: string) => readFileSync(file, 'utf8').trim();
  return { server, cwd, session: join(cwd, 'session'), token: join(cwd, 'token'), run, process, text };
}

const sessionOf = (server: TestServer, token: string) =>
  server.request<SessionResponse>('/rdcp/v1/session', { headers: bearer(token) });

test('token create prints a token that does less than the key, to be used in its place', async (t) => {
  const { server, token, run } = await setUp(t);
  const { code, stdout, stderr } = await run('token', 'create', '--scopes', 'status');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  assert.equal(stderr, 'Valid for 15m; scopes status.\n');
  assert.deepEqual((await sessionOf(server, stdout.trim())).body.scopes, ['status']);
  writeFileSync(token, stdout);
  assert.equal((await run('status', '--token-file', token)).code, 0);
  const refused = await run('enable', 'HTTP', '--token-file', token);
  assert.match(refused.stderr, /^rdcp: RDCP_FORBIDDEN: /);

  const narrower = await run('token', 'create', '--token-file', token, '--scopes', 'control');
  assert.equal(narrower.code, 1);
  assert.match(
    narrower.stderr,
    /^rdcp: RDCP_FORBIDDEN: .*\(error: invalid_scope; request fewer scopes with --scopes\)$/m,
  );
});

test('a session is kept in a private file, refreshed from it, and ended by it', async (t) => {
  const { server, cwd, session, run, text } = await setUp(t);
  const keep = ['--refresh-file', session];
  const created = await run('token', 'create', ...keep);
  assert.equal(created.code, 0, created.stderr);
  assert.equal(statSync(session).mode & 0o777, 0o600);
  const first = text(session);
  assert.match(first, /^rdcp_rt_\S+$/);

  const refreshed = await run('token', 'refresh', ...keep, '--scopes', 'control,status');
  assert.equal(refreshed.code, 0, refreshed.stderr);
  assert.deepEqual((await sessionOf(server, refreshed.stdout.trim())).body.scopes, ['status', 'control']);
  assert.notEqual(text(session), first);
  for (const { stdout, stderr } of [created, refreshed]) {
    assert.equal(`${stdout}${stderr}`.includes('rdcp_rt_'), false);
  }

  const revoked = await run('token', 'revoke', ...keep);
  assert.deepEqual(revoked, {
    code: 0,
    stdout: '',
    stderr: 'Revoked. If the token had a session, the session has ended.\n',
  });
  assert.equal((await sessionOf(server, refreshed.stdout.trim())).status, 401);
  const late = await run('token', 'refresh', ...keep);
  assert.equal(late.code, 1);
  assert.match(
    late.stderr,
    /^rdcp: RDCP_AUTH_FAILED: .*\(error: invalid_grant; the session has ended: start another with rdcp token create\)$/m,
  );
  assert.deepEqual(readdirSync(cwd), ['session']);
});

test('two at once do not use one refresh token twice', async (t) => {
  const { server, session, run, process } = await setUp(t);
  await run('token', 'create', '--refresh-file', session);
  const both = await Promise.all([0, 1].map(() => process('token', 'refresh', '--refresh-file', 'session')));
  for (const { code, stdout, stderr } of both) {
    assert.equal(code, 0, stderr);
    assert.equal((await sessionOf(server, stdout.trim())).status, 200);
  }
});

test('where the refresh token cannot be kept no session is begun', async (t) => {
  const { server, cwd, run } = await setUp(t);
  const nowhere = await run('token', 'create', '--refresh-file', join(cwd, 'no/such/place'));
  assert.equal(nowhere.code, 1);
  assert.equal(nowhere.stdout, '');
  const { body } = await server.request<{ entries: unknown[] }>('/rdcp/v1/audit?action=token.issue', { key: 'admin' });
  assert.equal(body.entries.length, 0);
});
