import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openKeysFile } from '../src/access/api-keys.ts';
import { createIntrospectionVerifier } from '../src/access/introspection.ts';
import { createJwtVerifier } from '../src/access/jwt.ts';
import { decodeSession } from '../src/access/tokens/sessions.ts';
import { configFromEnvironment } from '../src/assembly/register/environment.ts';
import { createRedisStore } from '../src/store/redis/store.ts';
import { systemClock } from '../src/wire/time/clock.ts';
import { serveIntrospection } from './auth/introspection-server.ts';
import { PASSWORD, startRedis, whyNoRedis } from './store/redis-server.ts';
import { newFolder } from './support/folder.ts';
import { inFull } from './support/secrets.ts';

// Parsers and servers quote what they could not read. Errors with their causes go to the diagnostics of the process, and
// whatever quotes a credential there, in part too, has given it away.

const SECRET = randomBytes(24).toString('hex');
const WINDOW = 6;

function assertShowsNothingOf(secret: string, error: unknown): void {
  const text = inFull(error);
  assert.ok(text.length > 20);
  for (let at = 0; at + WINDOW <= secret.length; at += 1) {
    assert.ok(!text.includes(secret.slice(at, at + WINDOW)), `a part of the secret is in ${text}`);
  }
}

async function failure(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing failed');
}

test('a keys file that holds the bare key', async (t) => {
  const directory = newFolder(t);
  const file = join(directory, 'keys.json');
  for (const content of [SECRET, SECRET.slice(0, 16), `{"keys":[{"id":"ops","hash":${SECRET}}]}`]) {
    writeFileSync(file, content);
    assertShowsNothingOf(SECRET, await failure(() => openKeysFile(file)));
  }
});

test('a configuration file with a password that is not quoted', async () => {
  const read = () => `{"security":{"tokens":{"secret":${SECRET}}}}`;
  assertShowsNothingOf(SECRET, await failure(() => configFromEnvironment({ RDCP_CONFIG: 'rdcp.json' }, read)));
});

test('addresses of an identity provider with a password, which no request can be made to', async () => {
  const address = `https://rdcp:${SECRET}@id.example/`;
  const issuer = { issuer: 'i', audience: 'a', algorithms: ['RS256' as const], jwksUri: address };
  const jwt = () => createJwtVerifier({ issuers: [issuer], clock: systemClock });
  const opaque = () => createIntrospectionVerifier({ endpoint: address, clientId: 'rdcp', clock: systemClock });
  for (const make of [jwt, opaque]) {
    const error = await failure(make);
    assert.match((error as Error).message, /must be an https URL without a user name or password/);
    assertShowsNothingOf(SECRET, error);
  }
});

test('an introspection endpoint that answers with the token', async (t) => {
  const { endpoint } = await serveIntrospection(t, (token) => token);
  const verifier = createIntrospectionVerifier({ endpoint, clientId: 'rdcp', clock: systemClock });
  assertShowsNothingOf(SECRET, await failure(() => verifier.verify(SECRET)));
});

test('the record of a session that is damaged', async () => {
  for (const record of [SECRET, `{"userId":"ann","scopes":[],"tagKey":${SECRET}}`, `{"tagKey":"${SECRET}"}`]) {
    assertShowsNothingOf(SECRET, await failure(() => decodeSession(record)));
  }
});

test('a Redis that shows the arguments of a command which it does not know', { skip: whyNoRedis() }, async (t) => {
  const redis = await startRedis('--rename-command', 'HELLO', '');
  t.after(() => redis.close());
  const store = createRedisStore({ url: redis.url });
  t.after(() => store.close());
  const error = await failure(() => store.load());
  assert.match((error as Error).message, /^ERR unknown command$/);
  assertShowsNothingOf(PASSWORD, error);
});
