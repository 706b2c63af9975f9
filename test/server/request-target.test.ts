import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { HEADERS, PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, StatusResponse } from '../../src/wire/messages.ts';
import { writeCertificate } from '../support/certificate.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { assembleApp, KEYS, startServer } from '../support/server.ts';

const KEY = [HEADERS.apiKey, KEYS.admin] as const;

/** What a server answers to a target, sent as it is. */
async function ask(url: string, target: string, headers: (readonly [string, string])[] = [['Host', 'localhost']]) {
  const answer = parseAnswer(await exchange(url, requestText('GET', target, [...headers, KEY])));
  const body = JSON.parse(answer?.body ?? '');
  return { status: answer?.status, code: body.error?.code as string | undefined, body };
}

test('a target in absolute form is answered as in origin form, query and all', async (t) => {
  const server = await startServer(t);
  const { host } = new URL(server.url);
  for (const origin of [`http://${host}`, 'http://localhost', 'HTTP://LOCALHOST:80', 'http://[::1]:9465']) {
    const { status, body } = await ask(server.url, origin + PATHS.status);
    assert.equal(status, 200, origin);
    assert.deepEqual(Object.keys((body as StatusResponse).categories), ['DATABASE', 'HTTP', 'X-CUSTOM']);
  }
  const body = '{"action":"enable","categories":"HTTP"}';
  const headers = [KEY, ['Host', host], ['Content-Type', 'application/json'], ['Content-Length', '39']] as const;
  const control = requestText('POST', `http://${host}${PATHS.control}`, headers, body);
  const changed = JSON.parse(parseAnswer(await exchange(server.url, control))?.body ?? '') as ControlResponse;
  assert.equal(changed.changes[0]?.newState, true);
  const page = await ask(server.url, `http://${host}${PATHS.audit}?action=enable&limit=1`);
  assert.equal((page.body as AuditResponse).entries.length, 1);
  assert.equal((await ask(server.url, `http://${host}${PATHS.audit}?limit=0`)).status, 400);
});

test('the host of such a target counts in place of Host, and must be one that the server goes by', async (t) => {
  const server = await startServer(t, { config: { server: { allowedHosts: ['debug.example'] } } });
  const target = `http://debug.example${PATHS.status}`;
  assert.equal((await ask(server.url, target, [['Host', 'elsewhere.test']])).status, 200);
  for (const target of ['http://localhost', 'http://localhost?x=/rdcp/v1/status']) {
    assert.equal((await ask(server.url, target)).status, 404, target);
  }
});

test('a Host is required beside it all the same, once and well-formed', async (t) => {
  const server = await startServer(t);
  const host = (value: string) => ['Host', value] as const;
  for (const headers of [[], [host('a b')], [host('localhost'), host('localhost')]]) {
    const { status, code } = await ask(server.url, `http://localhost${PATHS.status}`, headers);
    assert.deepEqual([status, code], [400, 'RDCP_MALFORMED_REQUEST'], JSON.stringify(headers));
  }
});

test('an Origin must be that of the target', async (t) => {
  const server = await startServer(t);
  const from = (origin: string) =>
    ask(server.url, `http://localhost${PATHS.status}`, [
      ['Host', 'evil.test'],
      ['Origin', origin],
    ]);
  assert.equal((await from('http://localhost')).status, 200);
  assert.equal((await from('http://evil.test')).status, 403);
});

test('over TLS the target is an https one', async (t) => {
  const { cert, ...tls } = writeCertificate();
  const server = await startServer(t, { config: { server: { tls } } as RdcpConfig });
  for (const [scheme, expected] of [
    ['https', 200],
    ['http', 403],
  ] as const) {
    const path = `${scheme}://localhost${PATHS.status}`;
    const request = get(server.url, { ca: cert, agent: false, path, headers: { [HEADERS.apiKey]: KEYS.admin } });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.equal(response.resume().statusCode, expected, scheme);
  }
});

test('mounted, our paths are recognized in absolute form too, for any host', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const server = createServer((req, res) => app.handler(req, res, () => res.end(JSON.stringify({ target: req.url }))));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  assert.equal((await ask(url, `https://app.example${PATHS.status}`)).body.protocol, 'rdcp/1.0');
  for (const target of [
    'http://app.example/',
    'http://app.example/rdcp',
    'http://rdcp/v1/status',
    'http://a?/rdcp/v1/status',
  ]) {
    assert.deepEqual((await ask(url, target)).body, { target }, 'untouched');
  }
});
