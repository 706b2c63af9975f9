import assert from 'node:assert/strict';
import { exec, spawn } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Agent, get, type RequestListener } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import { connect as connectSocket, createServer as createSocketServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { hasHttp2Channels } from '../../src/adopt/channels/channels.ts';
import { asOwnWork } from '../../src/otel/own-work.ts';
import { until } from '../support/until.ts';
import { listen, serve } from '../work/following.ts';
import { followChannels } from './following.ts';

const SECRET = 'hunter2';
const HAS_HTTP2 = hasHttp2Channels(process.versions.node);

const answer: RequestListener = (_req, res) => void res.end('ok');

function ask(url: string, options = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, options, (response) => resolve(text(response))).on('error', reject);
  });
}

const CHANNELS_OF: Readonly<Record<string, readonly string[]>> = {
  HTTP_SERVER: ['http.server.request.start', 'http.server.response.finish'],
  HTTP_CLIENT: ['http.client.request.created', 'http.client.response.finish', 'http.client.request.error'],
  UNDICI: ['undici:request:create', 'undici:request:headers', 'undici:request:error'],
  NET: ['net.client.socket', 'net.server.socket', 'tracing:net.server.listen:asyncEnd'],
  CHILD_PROCESS: ['child_process'],
  ...(HAS_HTTP2 && { HTTP2: ['http2.server.stream.created', 'http2.client.stream.close'] }),
  EXPRESS: ['tracing:express.router.request:start', 'tracing:express.router.request:asyncEnd'],
  FASTIFY: ['tracing:fastify.request.handler:end'],
  MYSQL2: ['tracing:mysql2:query:asyncEnd', 'tracing:mysql2:connect:start'],
  REDIS: ['tracing:node-redis:command:start'],
  IOREDIS: ['tracing:ioredis:command:start'],
};

describe('the categories of diagnostics channels', () => {
  it('are there for Node from the start, and for a library once it was loaded', (t) => {
    const { names, loaded } = followChannels(t);
    const ofNode = ['HTTP_SERVER', 'HTTP_CLIENT', 'UNDICI', 'NET', 'CHILD_PROCESS', ...(HAS_HTTP2 ? ['HTTP2'] : [])];
    assert.deepEqual(names(), ofNode);
    const withHttp2 = ['22.17.1', '22.18.0', '23.11.0', '24.1.0', '24.2.0', '26.0.0'].filter(hasHttp2Channels);
    assert.deepEqual(withHttp2, ['22.18.0', '24.2.0', '26.0.0']);
    for (const library of ['router', 'fastify', 'mysql2', '@redis/client', 'ioredis', 'ioredis'])
      loaded(library, '9.9.9');
    assert.deepEqual(names().slice(ofNode.length), ['EXPRESS', 'FASTIFY', 'MYSQL2', 'REDIS', 'IOREDIS']);
  });

  it('have subscribers only while they are wanted', (t) => {
    const { set, loaded, leave } = followChannels(t);
    for (const library of ['router', 'fastify', 'mysql2', '@redis/client', 'ioredis']) loaded(library, '9.9.9');
    const subscribed = () =>
      Object.entries(CHANNELS_OF).filter(([, channels]) => channels.some((name) => channel(name).hasSubscribers));
    assert.deepEqual(subscribed(), []);
    for (const [name, channels] of Object.entries(CHANNELS_OF)) {
      set(name, true);
      assert.deepEqual(subscribed(), [[name, channels]]);
      assert.ok(channels.every((each) => channel(each).hasSubscribers));
      set(name, false);
    }
    assert.deepEqual(subscribed(), []);
    set('NET', true);
    leave();
    assert.deepEqual(subscribed(), []);
  });

  it('of a library with several copies write each line once', (t) => {
    const { set, loaded, lines } = followChannels(t);
    loaded('ioredis', '5.11.0');
    loaded('ioredis', '5.11.1');
    set('IOREDIS', true);
    const message = { command: 'get', database: 0, serverAddress: 'cache', serverPort: 6379 };
    channel('tracing:ioredis:command:start').publish(message);
    channel('tracing:ioredis:command:asyncEnd').publish(message);
    assert.equal(lines('IOREDIS').length, 1);
  });

  it('survive a message of another form', (t) => {
    const { set, lines, warnings } = followChannels(t);
    for (const name of ['HTTP_SERVER', 'NET', 'CHILD_PROCESS']) set(name, true);
    for (const name of ['http.server.request.start', 'net.client.socket', 'net.server.socket']) {
      for (const message of [undefined, {}, { request: {} }]) channel(name).publish(message);
    }
    assert.deepEqual(lines('HTTP_SERVER'), []);
    assert.deepEqual(
      warnings.map((warning) => /the logger of (\w+) /.exec(warning)?.[1]),
      ['HTTP_SERVER', 'NET'],
    );
  });
});

describe('HTTP_SERVER and HTTP_CLIENT', () => {
  it('show method, path, status, peer and duration, and no query, header or body', async (t) => {
    const { set, lines, counted } = followChannels(t);
    const url = await serve(t, (_req, res) => {
      res.setHeader('Set-Cookie', SECRET);
      res.statusCode = 404;
      res.end(SECRET);
    });
    set('HTTP_SERVER', true);
    set('HTTP_CLIENT', true);
    await ask(`${url}/orders/42?token=${SECRET}`, { headers: { Authorization: SECRET } });
    await turn();
    const server = lines('HTTP_SERVER');
    const client = lines('HTTP_CLIENT');
    assert.ok(!JSON.stringify([server, client]).includes(SECRET));
    const [received, sent] = server;
    const request = { 'http.request.method': 'GET', 'url.path': '/orders/42' };
    assert.deepEqual(received, {
      message: 'request received',
      ...request,
      'network.peer.address': '127.0.0.1',
      'network.peer.port': received?.['network.peer.port'],
    });
    assert.deepEqual(sent, {
      ...received,
      message: 'response sent',
      'http.response.status_code': 404,
      duration_ms: sent?.duration_ms,
    });
    assert.ok(Number(sent?.duration_ms) >= 0);
    const started = { ...request, 'server.address': '127.0.0.1', 'url.scheme': 'http' };
    assert.deepEqual(client[0], { message: 'request started', ...started });
    assert.deepEqual(client[1], {
      message: 'response received',
      ...started,
      'http.response.status_code': 404,
      'network.peer.address': '127.0.0.1',
      'network.peer.port': Number(new URL(url).port),
      duration_ms: client[1]?.duration_ms,
    });
    assert.deepEqual([server.length, client.length, counted('HTTP_SERVER'), counted('HTTP_CLIENT')], [2, 2, 2, 2]);
    set('HTTP_SERVER', false);
    await ask(url);
    assert.deepEqual([lines('HTTP_SERVER'), counted('HTTP_SERVER')], [[], 2]);
  });

  it('show the path of a target in any form, without the host and the user before it, its query and its fragment', async (t) => {
    const { set, lines } = followChannels(t);
    const url = await serve(t, answer);
    set('HTTP_SERVER', true);
    for (const [path, shown] of [
      [`/orders?token=${SECRET}`, '/orders'],
      [`/orders#${SECRET}`, '/orders'],
      [`https://ada:${SECRET}@shop.example/orders?x`, '/orders'],
      ['*', undefined],
    ] as const) {
      await ask(url, { path, method: 'OPTIONS' });
      await turn();
      const paths = lines('HTTP_SERVER').map((line) => line['url.path']);
      assert.deepEqual(paths, [shown, shown], path);
    }
  });

  it('show a request that failed by the code of its error', async (t) => {
    const { set, lines } = followChannels(t);
    set('HTTP_CLIENT', true);
    await assert.rejects(ask('http://127.0.0.1:1/'));
    assert.deepEqual(
      lines('HTTP_CLIENT').map(({ message, 'error.type': type }) => [message, type]),
      [
        ['request started', undefined],
        ['request failed', 'ECONNREFUSED'],
      ],
    );
  });

  it('show the requests of one tenant, where the response is sent in its context', async (t) => {
    const { gate, set, lines } = followChannels(t);
    const url = await serve(t, (req, res) => gate.runWithTenant(req.url === '/a' ? 'acme' : 'other', () => res.end()));
    set('HTTP_SERVER', true, 'acme');
    for (const path of ['/a', '/b']) await ask(url + path);
    await turn();
    assert.deepEqual(
      lines('HTTP_SERVER').map((line) => line['url.path']),
      ['/a'],
    );
  });

  it('leave out what was under way when they were switched on', async (t) => {
    const { set, lines } = followChannels(t);
    const url = await serve(t, (_req, res) => {
      set('HTTP_SERVER', true);
      res.end();
    });
    await ask(url);
    await turn();
    assert.deepEqual(lines('HTTP_SERVER'), []);
  });

  it('leave out our own listener, and requests that we or an exporter make', async (t) => {
    const { set, lines } = followChannels(t);
    const own = await asOwnWork(() => serve(t, answer));
    const url = await serve(t, answer);
    for (const name of ['HTTP_SERVER', 'HTTP_CLIENT', 'UNDICI', 'NET']) set(name, true);
    await asOwnWork(() => ask(own));
    await asOwnWork(async () => (await fetch(own)).text());
    await turn();
    assert.deepEqual(['HTTP_SERVER', 'HTTP_CLIENT', 'UNDICI', 'NET'].flatMap(lines), []);
    await ask(own);
    await turn();
    assert.deepEqual([lines('HTTP_SERVER').length, lines('HTTP_CLIENT').length], [0, 2]);
    lines('NET');
    await ask(url);
    await turn();
    assert.deepEqual([lines('HTTP_SERVER').length, lines('HTTP_CLIENT').length], [2, 2]);
  });
});

it('HTTP_CLIENT and UNDICI show an answer to the tenant that asked, on a connection that another one opened', async (t) => {
  const { gate, set, lines } = followChannels(t);
  const url = await serve(t, answer);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ways = {
    HTTP_CLIENT: (path: string) => ask(url + path, { agent }),
    UNDICI: async (path: string) => (await fetch(url + path)).text(),
  };
  for (const [name, request] of Object.entries(ways)) {
    set(name, true, 'acme');
    for (const tenant of ['acme', 'other', 'acme']) {
      await gate.runWithTenant(tenant, () => request(`/${tenant}`));
      // The agent has the connection back before its next request.
      await until('the connection is free', () => Object.keys(agent.sockets).length === 0);
      await turn();
    }
    const shown = lines(name).map((line) => `${line.message} ${line['url.path']}`);
    const acme = ['request started /acme', 'response received /acme'];
    assert.deepEqual(shown, [...acme, ...acme], name);
  }
});

it('UNDICI shows what fetch does, without query, headers and body', async (t) => {
  const { set, lines } = followChannels(t);
  const url = await serve(t, answer);
  set('UNDICI', true);
  const init = { method: 'POST', body: SECRET, headers: { Authorization: SECRET } };
  await (await fetch(`${url}/orders?token=${SECRET}`, init)).text();
  const shown = lines('UNDICI');
  assert.ok(!JSON.stringify(shown).includes(SECRET));
  const request = {
    'http.request.method': 'POST',
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(url).port),
    'url.scheme': 'http',
    'url.path': '/orders',
  };
  assert.deepEqual(shown, [
    { message: 'request started', ...request },
    {
      message: 'response received',
      ...request,
      'http.response.status_code': 200,
      duration_ms: shown[1]?.duration_ms,
    },
  ]);
});

describe('NET', () => {
  it('shows connections from both sides, with their addresses and bytes', async (t) => {
    const { set, lines, counted } = followChannels(t);
    set('NET', true);
    const server = createSocketServer((socket) => socket.end('hello'));
    const port = await listen(server);
    const socket = connectSocket(port, '127.0.0.1');
    assert.equal(await text(socket), 'hello');
    server.close();
    while (counted('NET') < 5) await turn();
    const shown = lines('NET');
    assert.deepEqual(shown.map(({ message }) => message).sort(), [
      'connection accepted',
      'connection closed',
      'connection closed',
      'connection established',
      'listening',
    ]);
    const of = (message: string) => shown.find((line) => line.message === message);
    assert.equal(of('listening')?.['network.local.port'], port);
    assert.equal(of('connection established')?.['network.peer.port'], port);
    assert.equal(of('connection accepted')?.['network.local.port'], port);
    assert.deepEqual(
      shown
        .filter(({ message }) => message === 'connection closed')
        .map((line) => line['network.bytes_received'])
        .sort(),
      [0, 5],
    );
  });

  it('shows a connection that failed, and takes its listeners off when it is switched off', async (t) => {
    const { set, lines } = followChannels(t);
    set('NET', true);
    const socket = connectSocket(1, '127.0.0.1').on('error', () => {});
    const during = socket.listenerCount('close');
    await new Promise((resolve) => socket.on('close', resolve));
    assert.deepEqual(
      lines('NET').map(({ message }) => message),
      ['connection failed'],
    );
    const accepted: Socket[] = [];
    const server = createSocketServer((each) => accepted.push(each));
    t.after(() => server.close());
    const client = connectSocket(await listen(server), '127.0.0.1');
    await Promise.all([once(client, 'connect'), once(server, 'connection')]);
    const counts = () => [client, ...accepted].map((each) => each.listenerCount('close'));
    assert.deepEqual([during, ...counts()], [1, 1, 1]);
    set('NET', false);
    assert.deepEqual(counts(), [0, 0]);
    client.destroy();
  });
});

// Node.js before 22.18 and 24.2 publishes nothing.
it('HTTP2 shows streams of both sides with method, path and status', { skip: !HAS_HTTP2 }, async (t) => {
  const { set, lines } = followChannels(t);
  set('HTTP2', true);
  const server = createHttp2Server((_req, res) => {
    res.statusCode = 201;
    res.end(SECRET);
  });
  t.after(() => server.close());
  const session = connect(`http://127.0.0.1:${await listen(server as never)}`);
  const stream = session.request({ ':path': `/orders?token=${SECRET}`, authorization: SECRET });
  await text(stream);
  if (!stream.closed) await once(stream, 'close');
  session.close();
  await turn();
  const shown = lines('HTTP2');
  assert.ok(!JSON.stringify(shown).includes(SECRET));
  const request = { 'http.request.method': 'GET', 'url.path': '/orders' };
  assert.deepEqual(
    shown.filter(({ message }) => message === 'stream opened'),
    Array(2).fill({ message: 'stream opened', ...request }),
  );
  const ends = shown.filter(({ message }) => message === 'stream closed');
  assert.deepEqual(
    ends.map((line) => [line['http.response.status_code'], line['http2.error_code']]),
    [
      [201, 0],
      [201, 0],
    ],
  );
});

it('CHILD_PROCESS shows the program, its process id and how it ended, and no argument', async (t) => {
  const { set, lines } = followChannels(t);
  set('CHILD_PROCESS', true);
  const child = spawn(process.execPath, ['-e', 'process.exit(3)', SECRET]);
  await once(child, 'exit');
  const killed = exec('exec sleep 60');
  killed.kill();
  await once(killed, 'exit');
  const [error] = await once(spawn(`/missing/${SECRET}/program`), 'error');
  assert.equal(error.code, 'ENOENT');
  const shown = lines('CHILD_PROCESS').map(({ duration_ms, ...line }) => line);
  assert.ok(!JSON.stringify(shown).includes(SECRET));
  const node = { 'process.executable.name': 'node', 'process.pid': child.pid };
  const shell = { 'process.executable.name': 'sh', 'process.pid': killed.pid };
  assert.deepEqual(shown, [
    { message: 'process started', ...node },
    { message: 'process ended', ...node, 'process.exit.code': 3 },
    { message: 'process started', ...shell },
    { message: 'process ended', ...shell, 'process.exit.signal': 'SIGTERM' },
    { message: 'process not started', 'process.executable.name': 'program' },
  ]);
});
