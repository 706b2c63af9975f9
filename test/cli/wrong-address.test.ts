import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT } from '../../src/tools/cli/command.ts';
import { tlsFetch } from '../../src/tools/cli/connection.ts';
import { explain } from '../../src/tools/cli/explain.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { RdcpError } from '../../src/wire/errors.ts';
import { createAuthority } from '../support/certificate.ts';
import { newFolder } from '../support/folder.ts';
import { portOf } from '../support/listening.ts';
import { rdcp } from './run.ts';
import { madeUp } from './service.ts';

const ADDRESS = "is it the service's address? --url, RDCP_URL or a profile names another";
const html = (status: number, headers = {}): RequestListener => {
  return (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', ...headers }).end('<html>secret</html>');
  };
};

/** What answers at the address, and the line that it is reported in, by the exit code. */
const ANSWERS: Readonly<
  Record<'unreachable' | 'refused', Readonly<Record<string, readonly [RequestListener, string]>>>
> = {
  unreachable: {
    'redirects to https': [
      html(301, { Location: 'https://ops:pw@shop.example/rdcp/v1/discovery?key=secret' }),
      `RDCP_UNAVAILABLE: The server at URL redirects to https://shop.example/rdcp/v1/discovery, which is not followed (${ADDRESS})`,
    ],
    'redirects to a login page of its own': [
      html(302, { Location: '/login' }),
      `RDCP_UNAVAILABLE: The server at URL redirects to URL/login, which is not followed (${ADDRESS})`,
    ],
    'redirects nowhere': [
      html(307),
      `RDCP_UNAVAILABLE: The server at URL redirects to URL/, which is not followed (${ADDRESS})`,
    ],
    'answers with a page': [
      html(200),
      `RDCP_VERSION_UNSUPPORTED: The server at URL answered 200 with text/html, which is not rdcp/1.0 (${ADDRESS})`,
    ],
    'answers with other JSON': [
      (_request, response) => void response.end('{}'),
      `RDCP_VERSION_UNSUPPORTED: The server at URL answered 200 with no content type, which is not rdcp/1.0 (${ADDRESS})`,
    ],
    'has no such page': [
      html(404),
      `RDCP_NOT_FOUND: The server at URL answered 404 without an RDCP error (${ADDRESS})`,
    ],
    'is another service with JSON of its own': [
      (_request, response) => {
        response.writeHead(404, { 'Content-Type': 'application/json' });
        response.end('{"message":"Route GET:/rdcp/v1/status not found","error":"Not Found","statusCode":404}');
      },
      `RDCP_NOT_FOUND: The server at URL answered 404 without an RDCP error (${ADDRESS})`,
    ],
    'speaks an older version': [
      (_request, response) => void response.end('{"protocol":"rdcp/0.9","categories":[]}'),
      'RDCP_VERSION_UNSUPPORTED: The server at URL speaks rdcp/0.9, not rdcp/1.0 (use the rdcp command of the version that the service has)',
    ],
    fails: [
      html(500),
      'RDCP_SERVER_ERROR: The server at URL answered 500 without an RDCP error (is the service running? --url, RDCP_URL or a profile names another address)',
    ],
    'breaks off its answer': [
      (_request, response) => {
        response.write('{"protocol":"rdcp/1.0",', () => response.destroy());
      },
      'RDCP_UNAVAILABLE: The server at URL closed the connection (UND_ERR_SOCKET)',
    ],
    ...Object.fromEntries(
      [502, 503, 504].map((status) => {
        const code = status === 504 ? 'RDCP_TIMEOUT' : 'RDCP_UNAVAILABLE';
        const why = 'a proxy answered that cannot reach the service: is the service running?';
        const line = `${code}: The server at URL answered ${status} without an RDCP error (${why})`;
        return [`is a proxy that answers ${status}`, [html(status), line] as const];
      }),
    ),
  },
  refused: {
    'refuses our version': [
      (_request, response) => {
        const error = { code: 'RDCP_VERSION_UNSUPPORTED', message: 'Not spoken', details: { supported: ['rdcp/0.9'] } };
        response.writeHead(400).end(JSON.stringify({ protocol: 'rdcp/0.9', error }));
      },
      'RDCP_VERSION_UNSUPPORTED: Not spoken (supported: rdcp/0.9; use the rdcp command of the version that the service has)',
    ],
    'refuses without naming a scope': [
      (_request, response) => {
        const details = { reason: 'tenant_mismatch', requiredScopes: [], providedScopes: ['admin'] };
        response.writeHead(403).end(JSON.stringify({ error: { code: 'RDCP_FORBIDDEN', message: 'No', details } }));
      },
      'RDCP_FORBIDDEN: No (reason: tenant_mismatch; providedScopes: admin)',
    ],
    'wants a login of a proxy': [
      html(401, { 'WWW-Authenticate': 'Basic' }),
      "RDCP_AUTH_FAILED: The server at URL answered 401 without an RDCP error (the answer is not the service's: something in front of it wants another credential)",
    ],
    'limits requests in front of the service': [
      html(429, { 'Retry-After': '7' }),
      'RDCP_RATE_LIMITED: The server at URL answered 429 without an RDCP error (try again in 7 s; something in front of the service limits requests)',
    ],
  },
};
const answers = Object.entries(ANSWERS).flatMap(([code, rows]) =>
  Object.entries(rows).map(([what, [answer, line]]) => ({
    what,
    answer,
    line,
    code: EXIT[code as keyof typeof ANSWERS],
  })),
);

for (const { what, answer, code, line } of answers) {
  test(`an address that ${what} is reported in one line, with advice`, async (t) => {
    const url = await madeUp(t, answer);
    const expected = {
      code,
      stdout: '',
      stderr: `rdcp: ${line.replaceAll('URL/', `${url}/`).replace('URL ', `${url} `)}\n`,
    };
    assert.deepEqual(await rdcp(['status', '--url', url]), expected);
    const stream = await rdcp(['tail', 'DATABASE', '--url', url]);
    assert.deepEqual([stream.code, stream.stdout], [code, ''], stream.stderr);
    assert.match(stream.stderr, /^rdcp: [^\n]+\n$/);
    assert.doesNotMatch(stream.stderr, /secret|pw@|did not respond|without a response/);
  });
}

test('an address without a listener, and an unknown host name, are reported with the cause', async (t) => {
  const closed = createTcpServer();
  const port = await portOf(t, closed);
  await new Promise((resolve) => closed.close(resolve));
  for (const [url, cause] of [
    [`http://127.0.0.1:${port}`, 'ECONNREFUSED'],
    ['http://127.0.0.1:6000', 'fetch sends nothing to this port'],
    ['http://nowhere.invalid:9465', 'ENOTFOUND|EAI_AGAIN'],
  ] as const) {
    const { code, stderr } = await rdcp(['status', '--url', url], { cwd: '/' });
    assert.equal(code, EXIT.unreachable);
    assert.match(
      stderr,
      new RegExp(
        `^rdcp: RDCP_UNAVAILABLE: The server at ${url} cannot be reached \\((?:${cause}); is the service running\\?`,
      ),
    );
  }
});

test('a certificate of an unknown authority says how to name that authority', async (t) => {
  const authority = createAuthority();
  const { cert, key } = authority.issue('localhost', { usage: 'server' });
  const listener = createHttpsServer({ cert, key }, (_request, response) => void response.end('{}'));
  const url = `https://localhost:${await portOf(t, listener)}`;
  const { code, stderr } = await rdcp(['status', '--url', url], { cwd: '/' });
  assert.equal(code, EXIT.unreachable, stderr);
  assert.match(stderr, /is not trusted: NODE_EXTRA_CA_CERTS=FILE, or --ca FILE with 'rdcp login'/);
});

test('a certificate that has expired, is for another name or is no certificate says so', async (t) => {
  const authority = createAuthority();
  const { cert, key } = authority.issue('localhost', { usage: 'server', to: Date.now() - 60_000 });
  const listener = createHttpsServer({ cert, key }, (_request, response) => void response.end('{}'));
  const cwd = newFolder(t);
  writeFileSync(join(cwd, 'ca.pem'), authority.cert);
  writeFileSync(join(cwd, 'text'), 'no certificate');
  const url = `https://localhost:${await portOf(t, listener)}`;
  const login = (ca: string) => rdcp(['login', '--url', url, '--ca', ca], { cwd, piped: 'x'.repeat(40) });
  const expired = await login('ca.pem');
  assert.equal(expired.code, EXIT.unreachable);
  assert.match(expired.stderr, /CERT_HAS_EXPIRED; the server's certificate has expired: it must be renewed there\)\n$/);
  const none = await login('text');
  assert.equal(none.code, EXIT.usage);
  assert.match(none.stderr, /^rdcp: --ca: \S+text holds no certificate in PEM form\n$/);
  const cause = new TypeError('fetch failed', {
    cause: Object.assign(new Error('altnames'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
  });
  assert.match(
    explain(new RdcpError('RDCP_UNAVAILABLE', 'The server at x cannot be reached', { cause })),
    /the server's certificate is for another name: use that name in the address\)$/,
  );
});

test('a change whose outcome is unknown is said to be neither made nor undone, with the exit code of a part', async (t) => {
  const body = JSON.stringify({
    error: { code: 'RDCP_UNAVAILABLE', message: 'not known', details: { outcome: 'unknown' }, protocol: 'rdcp/1.0' },
  });
  const url = await madeUp(t, (_request, response) => void response.writeHead(503, { 'Retry-After': '5' }).end(body));
  const { code, stdout, stderr } = await rdcp(['enable', 'DATABASE', '--url', url]);
  assert.deepEqual([code, stdout], [EXIT.partial, '']);
  assert.match(stderr, /not known whether the change was made, .*'rdcp status' shows what is on; .* before you repeat/);
});

test('an event that is not JSON, and an answer that lacks what a table shows, are reported as such', async (t) => {
  const events: RequestListener = (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('event: start\ndata: {nonsense\n\n');
  };
  const url = await madeUp(t, events);
  assert.deepEqual(await rdcp(['tail', 'DATABASE', '--url', url]), {
    code: EXIT.unreachable,
    stdout: '',
    stderr: `rdcp: RDCP_VERSION_UNSUPPORTED: The server sent an event that is not JSON (${ADDRESS})\n`,
  });
  const short = await madeUp(t, (_request, response) => void response.end('{"protocol":"rdcp/1.0"}'));
  for (const command of ['list', 'status', 'metrics', 'tenants', 'fleet']) {
    const { code, stdout, stderr } = await rdcp([command, '--url', short]);
    const lacks = 'rdcp: the answer lacks fields that this command shows; -o json prints it unchanged\n';
    assert.deepEqual([code, stdout, stderr], [EXIT.refused, '', lacks], command);
    assert.equal((await rdcp([command, '--json', '--url', short])).code, EXIT.done);
  }
});

test('the development key is for a service on this machine alone', async (t) => {
  const cwd = newFolder(t);
  mkdirSync(join(cwd, '.rdcp'), { mode: 0o700 });
  const { ensureDevKey } = await import('../../src/access/dev-key.ts');
  ensureDevKey(cwd);
  const there = await rdcp(['status', '--url', 'http://nowhere.invalid:9465'], { cwd });
  assert.doesNotMatch(there.stderr, /credential is sent/, 'no credential goes to another host');
  writeFileSync(join(cwd, 'key'), 'x'.repeat(40));
  const given = await rdcp(['status', '--url', 'http://nowhere.invalid:9465', '--key-file', join(cwd, 'key')], { cwd });
  assert.match(given.stderr, /the credential is sent unencrypted/);
});

test('with an authority of its own redirects and unknown statuses are reported', async (t) => {
  const authority = createAuthority();
  const { cert, key } = authority.issue('localhost', { usage: 'server' });
  const fetchThere = tlsFetch({ ca: authority.cert });
  for (const [status, what] of [
    [301, /redirects to https:\/\/shop\.example\/, which is not followed/],
    [304, /redirects to https:\/\/shop\.example\/, which is not followed/],
    [204, /answered 204 with no content type, which is not rdcp\/1\.0/],
    [999, /cannot be reached/],
  ] as const) {
    const listener = createHttpsServer({ cert, key }, ({ socket }) => {
      socket.end(`HTTP/1.1 ${status} X\r\nLocation: https://shop.example/\r\nContent-Length: 0\r\n\r\n`);
    });
    const client = createRdcpClient({ baseUrl: `https://localhost:${await portOf(t, listener)}`, fetch: fetchThere });
    await assert.rejects(client.status(), { message: what });
  }
});
