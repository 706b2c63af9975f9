import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { createRdcpClient, isRdcpError, RdcpResponseError } from '../../src/client.ts';
import { rdcp as command } from '../cli/run.ts';
import { json, noting } from '../cli/service.ts';
import { until } from '../support/until.ts';

test('every call goes to its path with the headers of the protocol', async (t) => {
  const { url, seen } = await noting(t, (response) => json(response, {}));
  const client = createRdcpClient({
    baseUrl: `${url}/`,
    apiKey: 'key',
    clientId: 'cli',
    tenantId: 'acme',
    headers: { 'X-Proxy': 'yes', accept: 'text/html' },
  });
  await client.wellKnown();
  await client.discovery();
  await client.status();
  await client.health();
  await client.metrics();
  await client.tenants();
  await client.session();
  await client.audit();
  assert.deepEqual(
    seen.map(({ target }) => target),
    [
      'GET /.well-known/rdcp',
      'GET /rdcp/v1/discovery',
      'GET /rdcp/v1/status',
      'GET /rdcp/v1/health',
      'GET /rdcp/v1/metrics',
      'GET /rdcp/v1/tenants',
      'GET /rdcp/v1/session',
      'GET /rdcp/v1/audit',
    ],
  );
  for (const { headers } of seen) {
    assert.equal(headers.accept, 'application/json');
    assert.equal(headers['x-rdcp-protocol'], 'rdcp/1.0');
    assert.equal(headers['x-rdcp-auth-method'], 'api-key');
    assert.equal(headers['x-rdcp-api-key'], 'key');
    assert.equal(headers['x-rdcp-client-id'], 'cli');
    assert.equal(headers['x-rdcp-tenant-id'], 'acme');
    assert.equal(headers['x-proxy'], 'yes');
  }
  assert.equal(new Set(seen.map(({ headers }) => headers['x-rdcp-request-id'])).size, seen.length);
});

test('control sends the body of the protocol under the id that the caller names', async (t) => {
  const { url, seen } = await noting(t, (response) => json(response, { status: 'success' }));
  const client = createRdcpClient({ baseUrl: `${url}/behind/a/path` });
  await client.control({ action: 'enable', categories: 'SQL', options: { duration: '5m' } }, { requestId: 'r-1' });
  await client.disable(['SQL', 'HTTP'], { reason: 'done' });
  await client.toggle('SQL');
  await client.reset();
  assert.deepEqual(
    seen.map(({ body }) => JSON.parse(body)),
    [
      { action: 'enable', categories: 'SQL', options: { duration: '5m' } },
      { action: 'disable', categories: ['SQL', 'HTTP'], options: { reason: 'done' } },
      { action: 'toggle', categories: 'SQL' },
      { action: 'reset' },
    ],
  );
  assert.equal(seen[0]?.target, 'POST /behind/a/path/rdcp/v1/control');
  assert.equal(seen[0]?.headers['x-rdcp-request-id'], 'r-1');
  assert.equal(seen[0]?.headers['content-type'], 'application/json');
  assert.equal(seen[0]?.headers['x-rdcp-auth-method'], undefined);
});

test('a token function is asked before every request', async (t) => {
  const { url, seen } = await noting(t, (response) => json(response, {}));
  let count = 0;
  const client = createRdcpClient({
    baseUrl: url,
    token: async () => {
      count += 1;
      return `token-${count}`;
    },
  });
  await client.status();
  await client.status();
  assert.deepEqual(
    seen.map(({ headers }) => headers.authorization),
    ['Bearer token-1', 'Bearer token-2'],
  );
});

test('an error of the server keeps its code, status, method, details and Retry-After', async (t) => {
  const refusal = { method: 'api-key', details: { limit: 60 }, protocol: 'rdcp/1.0' };
  const { url } = await noting(t, (response) =>
    json(response, { error: { code: 'RDCP_RATE_LIMITED', message: 'Slow down', ...refusal } }, 429, {
      'Retry-After': '12',
    }),
  );
  const client = createRdcpClient({ baseUrl: url });
  await assert.rejects(client.status(), (error) => isRdcpError(error) && error instanceof RdcpResponseError);
  await assert.rejects(client.status({ requestId: 'r-9' }), {
    ...{ code: 'RDCP_RATE_LIMITED', status: 429, message: 'Slow down', method: 'api-key', requestId: 'r-9' },
    ...{ details: { limit: 60 }, headers: { 'Retry-After': '12' } },
  });
});

const foreign: [string, number, string, string, string | undefined][] = [
  ['an unknown code', 418, '{"error":{"code":"RDCP_TEA_POT","message":"m"}}', 'RDCP_MALFORMED_REQUEST', 'RDCP_TEA_POT'],
  ['an unknown 5xx code', 507, '{"error":{"code":"RDCP_DISK_FULL"}}', 'RDCP_SERVER_ERROR', 'RDCP_DISK_FULL'],
  ['a name that every object has', 400, '{"error":{"code":"toString"}}', 'RDCP_MALFORMED_REQUEST', 'toString'],
  ['the page of a proxy', 502, '<html>Bad Gateway</html>', 'RDCP_UNAVAILABLE', undefined],
  ['an empty body', 404, '', 'RDCP_NOT_FOUND', undefined],
  ['fields of the wrong type', 403, '{"error":{"code":7,"message":[],"details":"x"}}', 'RDCP_FORBIDDEN', undefined],
  [
    'a code known under another status',
    403,
    '{"error":{"code":"RDCP_AUTH_FAILED"}}',
    'RDCP_AUTH_FAILED',
    'RDCP_AUTH_FAILED',
  ],
];
for (const [what, status, body, code, serverCode] of foreign) {
  test(`an answer with ${what} is still an error with code and status`, async (t) => {
    const { url } = await noting(t, (response) => response.writeHead(status).end(body));
    const expected = { code, status, serverCode, message: /./ };
    await assert.rejects(createRdcpClient({ baseUrl: url }).status(), expected);
  });
}

test('the health of an unhealthy server is an answer, an error with the same status is not', async (t) => {
  const { url } = await noting(t, (response, { length: count }) =>
    json(response, count === 1 ? { status: 'unhealthy', checks: [] } : { error: { code: 'RDCP_UNAVAILABLE' } }, 503),
  );
  const client = createRdcpClient({ baseUrl: url });
  assert.equal((await client.health()).status, 'unhealthy');
  await assert.rejects(client.health(), { code: 'RDCP_UNAVAILABLE' });
});

test('a server that does not answer in time is RDCP_TIMEOUT, also in the middle of a body', async (t) => {
  const { url } = await noting(t, (response, { length: count }) => {
    if (count === 2) response.write('{"protocol":');
  });
  const client = createRdcpClient({ baseUrl: url, timeoutMs: 100 });
  for (const _ of [1, 2]) {
    await assert.rejects(client.status(), { code: 'RDCP_TIMEOUT' });
  }
});

test('an aborted request rejects with the reason of the caller', async (t) => {
  const { url } = await noting(t, () => {});
  const client = createRdcpClient({ baseUrl: url });
  const reason = new Error('changed my mind');
  const controller = new AbortController();
  const pending = client.status({ signal: controller.signal });
  controller.abort(reason);
  await assert.rejects(pending, reason);
  await assert.rejects(client.status({ signal: controller.signal }), reason);
});

test('a control whose connection breaks is sent once more with the same id', async (t) => {
  const { url, seen } = await noting(t, (response, { length: count }) => {
    if (count === 1) response.destroy();
    else json(response, { status: 'success' });
  });
  const client = createRdcpClient({ baseUrl: url });
  assert.equal((await client.toggle('SQL')).status, 'success');
  assert.equal(seen.length, 2);
  assert.equal(seen[0]?.headers['x-rdcp-request-id'], seen[1]?.headers['x-rdcp-request-id']);
  assert.equal(seen[0]?.body, seen[1]?.body);
});

test('a control is not sent a third time, and not again after a refusal', async (t) => {
  const broken = await noting(t, (response) => response.destroy());
  await assert.rejects(createRdcpClient({ baseUrl: broken.url }).toggle('SQL'));
  assert.equal(broken.seen.length, 2);
  const refusing = await noting(t, (response) => json(response, { error: { code: 'RDCP_UNAVAILABLE' } }, 503));
  await assert.rejects(createRdcpClient({ baseUrl: refusing.url }).toggle('SQL'));
  assert.equal(refusing.seen.length, 1);
});

test('a redirect is not followed with the credential', async (t) => {
  const elsewhere = await noting(t, (response) => json(response, {}));
  const { url } = await noting(t, (response) => response.writeHead(307, { Location: elsewhere.url }).end());
  await assert.rejects(createRdcpClient({ baseUrl: url, apiKey: 'key' }).status(), isRdcpError);
  assert.equal(elsewhere.seen.length, 0);
});

test('audit filters become query parameters, and the iterator reads every page', async (t) => {
  const { url, seen } = await noting(t, (response, { length: count }) =>
    json(response, { entries: [{ id: `e${count}` }], ...(count < 3 ? { otelrdcp_next: `c ${count}` } : {}) }),
  );
  const client = createRdcpClient({ baseUrl: url });
  const ids: string[] = [];
  const filter = { limit: 1, since: new Date(0), action: 'enable', category: 'SQL' } as const;
  for await (const entry of client.auditEntries(filter)) ids.push(entry.id);
  assert.deepEqual(ids, ['e1', 'e2', 'e3']);
  const queries = seen.map(({ target }) => Object.fromEntries(new URL(target.split(' ')[1] ?? '', url).searchParams));
  const first = { limit: '1', since: '1970-01-01T00:00:00.000Z', action: 'enable', category: 'SQL' };
  assert.deepEqual(queries, [first, { ...first, cursor: 'c 1' }, { ...first, cursor: 'c 2' }]);
});

test('options that cannot be meant are refused, and a bad credential is not shown', async () => {
  for (const baseUrl of ['localhost:9465', '/rdcp', 'file:///etc/passwd', 'http://user:pass@localhost']) {
    assert.throws(() => createRdcpClient({ baseUrl }), TypeError);
  }
  assert.throws(() => createRdcpClient({ baseUrl: 'http://localhost', apiKey: 'a', token: 'b' }), TypeError);
  await assert.rejects(
    createRdcpClient({ baseUrl: 'http://localhost', apiKey: 'secret\n' }).status(),
    (error) => error instanceof TypeError && !error.message.includes('secret'),
  );
});

test('on a web page that came over plain HTTP, which has no randomUUID, each request still has a UUID', async (t) => {
  t.mock.method(crypto, 'randomUUID', undefined as never);
  const { url, seen } = await noting(t, (response) => json(response, {}));
  const client = createRdcpClient({ baseUrl: url, apiKey: 'key' });
  await client.status();
  await client.enable('DATABASE');
  const ids = seen.map(({ headers }) => String(headers['x-rdcp-request-id']));
  for (const id of ids) assert.match(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  assert.equal(new Set(ids).size, 2);
});

test('a stream goes on when this process was stopped for longer than it waits, and an answer has arrived', async (t) => {
  const [MAY_ANSWER, HAS_ANSWERED] = [0, 1];
  const flags = new Int32Array(new SharedArrayBuffer(8));
  const server = new Worker(
    `const { parentPort, workerData: flags } = require('node:worker_threads');
     const server = require('node:http').createServer((request, response) => {
       parentPort.postMessage('asked');
       Atomics.wait(flags, ${MAY_ANSWER}, 0);
       response.writeHead(200, { 'Content-Type': 'text/event-stream' });
       response.write('event: end\\ndata: {}\\n\\n', () => {
         Atomics.store(flags, ${HAS_ANSWERED}, 1);
         Atomics.notify(flags, ${HAS_ANSWERED});
       });
     });
     server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
    { eval: true, workerData: flags },
  );
  t.after(() => server.terminate());
  const [port] = await once(server, 'message');
  const timeoutMs = 1000;
  const asked = once(server, 'message');
  const first = createRdcpClient({ baseUrl: `http://127.0.0.1:${port}`, timeoutMs })
    .tail('SQL')
    .next();
  await Promise.race([asked, first]);
  // As with Ctrl-Z and fg: nothing runs here meanwhile, and afterwards both the answer and the timer are due.
  Atomics.store(flags, MAY_ANSWER, 1);
  Atomics.notify(flags, MAY_ANSWER);
  Atomics.wait(flags, HAS_ANSWERED, 0, 30_000);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs);
  assert.deepEqual(await first, { done: false, value: { event: 'end', data: {} } });
});

test('a stream of a server that hangs is given up after 20 seconds of silence', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const fetch = async (_url: string, { signal }: RequestInit) => {
    const start = (body: ReadableStreamDefaultController) => {
      body.enqueue(new TextEncoder().encode('event: start\ndata: {}\n\n'));
      signal?.addEventListener('abort', () => body.error(signal.reason));
    };
    return new Response(new ReadableStream({ start }), { headers: { 'Content-Type': 'text/event-stream' } });
  };
  const tail = createRdcpClient({ baseUrl: 'http://localhost', fetch }).tail('SQL');
  await tail.next();
  const rejected = assert.rejects(tail.next(), { code: 'RDCP_TIMEOUT' });
  // The second is for what arrived while this process was stopped.
  for (const milliseconds of [20_000, 1000]) t.mock.timers.tick(milliseconds);
  await rejected;
});

const MEBIBYTE = Buffer.alloc(1024 * 1024, ' ');

for (const [what, encoding] of [
  ['an answer without end', undefined],
  ['a compressed answer of 256 MiB', 'gzip'],
] as const) {
  test(`${what} is given up after 16 MiB, for calls, streams and the command alike`, async (t) => {
    let sent = 0;
    let closed = 0;
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024, ' '));
    const { url } = await noting(t, (response) => {
      response.on('close', () => {
        closed += 1;
      });
      response.writeHead(200, {
        'Content-Type': 'application/json',
        ...(encoding && { 'Content-Encoding': encoding }),
      });
      if (encoding !== undefined) return void response.end(bomb);
      const more = () => {
        while (!response.destroyed && response.write(MEBIBYTE)) sent += 1;
      };
      response.on('drain', more);
      more();
    });
    const client = createRdcpClient({ baseUrl: url, apiKey: 'key' });
    const tooLarge = (error: unknown) =>
      isRdcpError(error) && error.code === 'RDCP_UNAVAILABLE' && /has more than 16 MiB/.test(error.message);
    const before = process.memoryUsage().rss;
    await assert.rejects(client.status(), tooLarge);
    await assert.rejects(async () => {
      for await (const _ of client.events()) assert.fail();
    }, tooLarge);
    const { code, stderr } = await command(['status', '--url', url], { env: { RDCP_API_KEY: 'key' } });
    assert.notEqual(code, 0);
    assert.match(stderr, /has more than 16 MiB/);
    await until('every connection is closed', () => closed === 3);
    assert.ok(sent < 100, `${sent} MiB were sent`);
    assert.ok(process.memoryUsage().rss - before < 250 * 1024 * 1024);
  });
}
