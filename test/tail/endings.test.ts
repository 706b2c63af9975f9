import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { ClientHttp2Stream } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../../src/access/principal.ts';
import type { Context } from '../../src/endpoint/steps.ts';
import { createCredentialWatch } from '../../src/endpoint/streams/event-stream.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { ServerSentEventParser } from '../../src/tools/client/server-sent-events.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { KEYS, startServer, withMembers } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { http2Session } from '../support/tls-client.ts';
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

const authority = createAuthority();
const { cert, key } = authority.issue('localhost', { usage: 'server' });

interface Sse {
  readonly name: string;
  readonly data: Record<string, unknown>;
}

/** The events of a stream over HTTP/2, until it ends or the reader has enough. */
async function* eventsOf(stream: ClientHttp2Stream): AsyncGenerator<Sse> {
  const parser = new ServerSentEventParser();
  for await (const chunk of stream.setEncoding('utf8')) {
    for (const { event, data } of parser.read(chunk)) yield { name: event, data: JSON.parse(data) };
  }
}

async function nextOf(events: AsyncGenerator<Sse>, name: string): Promise<Sse['data']> {
  for (;;) {
    const { done, value } = await events.next();
    assert.ok(done !== true, `the stream ended before ${name}`);
    if (value.name === name) return value.data;
  }
}

async function restOf(events: AsyncGenerator<Sse>): Promise<readonly Sse[]> {
  const rest: Sse[] = [];
  for await (const event of events) rest.push(event);
  return rest;
}

/** A server over HTTP/2 whose people a test takes away. */
async function startTls(t: TestContext, people: Map<string, Principal>) {
  const server = await serverOf(t, people, {
    config: { server: { tls: writePems({ certFile: cert, keyFile: key }) } },
  });
  const session = await http2Session(t, server.url, { ca: authority.cert });
  const open = (path: string, who: string) => eventsOf(session.request({ ':path': path, 'x-rdcp-api-key': who }));
  return { ...server, session, open };
}

test('over HTTP/2 several streams share a connection, and end each with its own credential', async (t) => {
  const people = new Map(['gone', 'stays'].map((name) => [name, principal(name)]));
  const { session, open, gate } = await startTls(t, people);
  const tail = `${PATHS.tail}?categories=HTTP&duration=5m`;
  const [goneTail, goneEvents, stayingTail, stayingEvents] = [
    open(tail, 'gone'),
    open(PATHS.events, 'gone'),
    open(tail, 'stays'),
    open(PATHS.events, 'stays'),
  ] as const;
  for (const stream of [goneTail, stayingTail]) await nextOf(stream, 'start');
  for (const stream of [goneEvents, stayingEvents]) await nextOf(stream, 'snapshot');

  people.delete('gone');
  const ended = await restOf(goneTail);
  assert.deepEqual(ended.at(-1), { name: 'end', data: { reason: 'revoked', lines: 0, dropped: 0 } });
  await restOf(goneEvents);

  // What is left of the connection works as before.
  gate.category('LATER');
  assert.equal((await nextOf(stayingEvents, 'category')).name, 'LATER');
  const line = nextOf(stayingTail, 'line');
  gate.category('HTTP').debug('still here');
  assert.equal((await line).message, 'still here');
  assert.equal(session.destroyed, false);
  session.destroy();
});

test('over mutual TLS a revoked certificate reads no more, and others connect again', async (t) => {
  const operator = authority.issue('operator', { usage: 'client' });
  const colleague = authority.issue('colleague', { usage: 'client' });
  const tls = writePems({
    certFile: cert,
    keyFile: key,
    clientCaFile: authority.cert,
    crlFile: authority.revocationList(),
  });
  const scopes = ['admin'] as const;
  const { rdcp, url } = await startService(t, {
    server: { port: 0, tls },
    security: {
      level: 'enterprise',
      mtls: {
        identities: ['operator', 'colleague'].map((userId) => ({
          subject: `CN=${userId}`,
          userId,
          scopes: [...scopes],
        })),
      },
    },
  });
  const open = async (certificate: typeof operator, path: string) => {
    const session = await http2Session(t, url, { ca: authority.cert, cert: certificate.cert, key: certificate.key });
    return { session, events: eventsOf(session.request({ ':path': path })) };
  };
  const [watching, other] = [await open(operator, PATHS.events), await open(colleague, PATHS.events)];
  for (const { events } of [watching, other]) await nextOf(events, 'snapshot');
  rdcp.category('BY_CERTIFICATE');
  for (const { events } of [watching, other]) assert.equal((await nextOf(events, 'category')).name, 'BY_CERTIFICATE');

  writeFileSync(tls.crlFile, authority.revocationList([operator.serial]));
  for (const { events } of [watching, other]) await restOf(events).catch(() => undefined);
  await assert.rejects(open(operator, PATHS.events).then(({ events }) => nextOf(events, 'snapshot')));
  const again = await open(colleague, PATHS.events);
  await nextOf(again.events, 'snapshot');
  rdcp.category('AFTERWARDS');
  assert.equal((await nextOf(again.events, 'category')).name, 'AFTERWARDS');
});
