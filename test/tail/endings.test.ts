import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../../src/access/principal.ts';
import type { Context } from '../../src/endpoint/steps.ts';
import { createCredentialWatch } from '../../src/endpoint/streams/credential-watch.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { KEYS, startServer, withMembers } from '../support/server.ts';
import { principal, serverOf } from './people.ts';

test('an administrator who is none any more loses the audit entries, and what only administrators tail', async (t) => {
  const people = new Map([['ops', principal('ops')]]);
  const server = await serverOf(t, people, { config: { tail: { scope: 'control', rate: 50 } } });
  const client = createRdcpClient({ baseUrl: server.url, apiKey: 'ops' });
  const events = client.events();
  await events.next();
  const watched = (async () => {
    for await (const _ of events);
  })();
  const ended = assert.rejects(watched, { code: 'RDCP_UNAVAILABLE' });
  let reason: unknown;
  for await (const { event, data } of client.tail('HTTP', { rate: 5000, duration: 10 })) {
    if (event === 'instance') people.set('ops', principal('ops', { scopes: ['discovery', 'control'] }));
    if (event === 'end') reason = data.reason;
  }
  assert.equal(reason, 'revoked');
  await ended;
  for await (const { event } of client.events()) if (event === 'rates') break;
});

test('who was no administrator keeps a stream as long as its own scope', async (t) => {
  const people = new Map([['ops', principal('ops', { scopes: ['discovery', 'control'] })]]);
  const server = await serverOf(t, people, { config: { tail: { scope: 'control' } } });
  const client = createRdcpClient({ baseUrl: server.url, apiKey: 'ops' });
  let reason: unknown;
  for await (const { event, data } of client.tail('HTTP', { duration: 1 })) {
    if (event === 'start') people.set('ops', principal('ops', { scopes: ['control'] }));
    if (event === 'end') reason = data.reason;
  }
  assert.equal(reason, 'expired');
});

test('a stream that begins after its timeout was answered takes no place and does not last', async (t) => {
  const { promise: away, resolve: release } = Promise.withResolvers<undefined>();
  const none = async () => {
    await away;
    return { revision: 0, members: [], lost: [], instances: 1 };
  };
  const open = new Set<() => void>();
  const server = await startServer(t, {
    config: { limits: { requestTimeoutSeconds: 1 } },
    wrap: ({ streams }) => ({
      fleet: { summary: none, members: none, refresh: none, revision: 0 } as never,
      streams: withMembers(streams, {
        add(end) {
          open.add(end);
          return () => void open.delete(end);
        },
      }),
    }),
  });
  const before = open.size;
  // As many as an identity may have.
  const paths = [PATHS.tail, PATHS.events].flatMap((path) => Array<string>(8).fill(path));
  const ask = (path: string) => server.request(`${path}?categories=HTTP`, { key: 'admin' });
  const late = await Promise.all(paths.map(ask));
  for (const { status, body } of late) assert.deepEqual([status, body.error.code], [504, 'RDCP_TIMEOUT']);
  release(undefined);
  // Nothing follows that a late stream would have to precede.
  await sleep(100);
  assert.equal(open.size, before, 'no stream is left');
  const controller = new AbortController();
  const headers = { 'X-RDCP-API-Key': KEYS.admin };
  const again = await Promise.all(
    paths.map(
      async (path) =>
        (await fetch(`${server.url}${path}?categories=HTTP`, { headers, signal: controller.signal })).status,
    ),
  );
  assert.deepEqual(new Set(again), new Set([200]));
  controller.abort();
  assert.deepEqual(server.reports, []);
});

/** How long a keys file, or a session that another process revoked, may take to be noticed. */
const NOTICED_AFTER_MS = 500;

test('a credential that is revoked elsewhere ends a stream within a second', async () => {
  const principal: Principal = { method: 'api-key', userId: 'a', clientId: 'a', scopes: ['admin'] };
  const checks: { every: number; check: () => void }[] = [];
  let current: Principal | undefined = principal;
  let over = 0;
  const watch = createCredentialWatch(async () => current, {
    clock: { now: () => 0, monotonic: () => 0 },
    schedule: (every, check) => {
      checks.push({ every, check });
      return () => {};
    },
    delay: () => () => {},
  });
  watch({ state: { principal } } as unknown as Context, ['admin'], () => over++);
  const [first] = checks;
  first?.check();
  await new Promise(setImmediate);
  assert.equal(over, 0);
  current = undefined;
  first?.check();
  await new Promise(setImmediate);
  assert.equal(over, 1);
  assert.ok(first !== undefined && NOTICED_AFTER_MS + first.every < 1000, `${first?.every} ms`);
});
