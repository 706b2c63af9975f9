import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import express from 'express';
import { parseConfig } from '../../src/options/config.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { SessionResponse, WellKnownDocument } from '../../src/wire/messages.ts';
import { serve } from '../support/serve.ts';
import { assembleApp, send, startServer } from '../support/server.ts';

const PAGE = '/rdcp/console/';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

test('the page is served with headers that let it load its own files and nothing else', async (t) => {
  const { url } = await startServer(t);
  const answer = await fetch(url + PAGE);
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /<!doctype html>/i);
  const headers = Object.fromEntries(answer.headers);
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  assert.equal(headers['content-security-policy'], POLICY);
  assert.equal(headers['referrer-policy'], 'no-referrer');
  assert.match(headers['permissions-policy'] ?? '', /\bcamera=\(\)/);
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
  assert.equal(headers['cross-origin-embedder-policy'], 'require-corp');
  assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
  assert.equal(headers['x-frame-options'], 'DENY');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['cache-control'], 'no-cache');
  assert.equal(headers['set-cookie'], undefined);
});

test('a refusal below the page has its headers too, and says that there is nothing', async (t) => {
  const { url } = await startServer(t);
  for (const [path, method, status] of [
    [`${PAGE}nothing.js`, 'GET', 404],
    [`${PAGE}%2e%2e/package.json`, 'GET', 404],
    [`${PAGE}..%2fpackage.json`, 'GET', 404],
    [`${PAGE}index.html`, 'GET', 404],
    [`/rdcp/console.js`, 'GET', 404],
    [PAGE, 'POST', 405],
    [PAGE, 'PUT', 405],
    [PAGE, 'OPTIONS', 405],
  ] as const) {
    const answer = await fetch(url + path, { method });
    assert.equal(answer.status, status, `${method} ${path}`);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.match(await answer.text(), /RDCP_/);
    const below = new URL(url + path).pathname.startsWith(PAGE);
    assert.equal(answer.headers.get('content-security-policy'), below ? POLICY : null, path);
  }
});

test('a browser that has the page asks for it with its tag, gets nothing twice, and all of it compressed', async (t) => {
  const { url } = await startServer(t);
  const first = await fetch(url + PAGE, { headers: { 'Accept-Encoding': 'identity' } });
  const etag = first.headers.get('etag') ?? '';
  assert.match(etag, /^"[\w-]{43}"$/);
  const same = await fetch(url + PAGE, { headers: { 'If-None-Match': etag, 'Accept-Encoding': 'identity' } });
  assert.equal(same.status, 304);
  assert.equal(await same.text(), '');
  assert.equal(same.headers.get('etag'), etag);
  assert.equal(same.headers.get('content-security-policy'), POLICY);
  const other = await fetch(url + PAGE, { headers: { 'If-None-Match': '"old"', 'Accept-Encoding': 'identity' } });
  assert.equal(other.status, 200);
  const zipped = await fetch(url + PAGE, { headers: { 'Accept-Encoding': 'gzip' } });
  assert.equal(zipped.headers.get('content-encoding'), 'gzip');
  assert.match(zipped.headers.get('etag') ?? '', /^"[\w-]{43}-gzip"$/);
  assert.equal(zipped.headers.get('vary'), 'Accept-Encoding');
  assert.equal(await zipped.text(), await other.text());
});

test('without the slash at its end the address leads to the page, also below a path', async (t) => {
  const app = await assembleApp(t, { config: { server: false, console: true } });
  const below: RequestListener = express().use('/ops', app.handler);
  for (const url of [(await serve(t, app.handler)).url, `${(await serve(t, below)).url}/ops`]) {
    const answer = await fetch(`${url}/rdcp/console?x=1`, { redirect: 'manual' });
    assert.equal(answer.status, 308);
    assert.equal(answer.headers.get('location'), 'console/');
    const followed = await fetch(`${url}/rdcp/console`);
    assert.equal(followed.url, url + PAGE);
    assert.equal(followed.status, 200);
  }
});

test('it is served on loopback unless it is switched off, and elsewhere when it is switched on', async (t) => {
  const cases: readonly (readonly [RdcpConfig, boolean])[] = [
    [{}, true],
    [{ console: false }, false],
    [{ console: { traceUrl: 'https://traces.example.com/{traceId}' } }, true],
    [{ server: { host: '0.0.0.0', behindTlsProxy: true } }, false],
    [{ server: { host: '0.0.0.0', behindTlsProxy: true }, console: true }, true],
  ];
  for (const [config, served] of cases) {
    const server = await startServer(t, { config });
    const url = server.url.replace('0.0.0.0', '127.0.0.1');
    const what = JSON.stringify(config);
    assert.equal((await fetch(url + PAGE)).status, served ? 200 : 404, what);
    const { body: session } = await send<SessionResponse>(`${url}/rdcp/v1/session`, { key: 'status' });
    const { traceUrl } = typeof config.console === 'object' ? config.console : {};
    const settings = { maxDurationSeconds: 86_400, service: 'test', ...(traceUrl && { traceUrl }) };
    assert.deepEqual(session.otelrdcp_console, served ? settings : undefined, what);
    const { body: document } = await send<WellKnownDocument>(`${url}/.well-known/rdcp`);
    assert.deepEqual(document.otelrdcp_console, served ? { page: PAGE } : undefined, what);
  }
  const mounted = await assembleApp(t, { config: { server: false } });
  assert.equal((await fetch((await serve(t, mounted.handler)).url + PAGE)).status, 404);
});

test('the session says whether its credential may tail', async (t) => {
  const tailOf = async (tail: NonNullable<RdcpConfig['tail']>, key: 'admin' | 'control' | 'status') => {
    const server = await startServer(t, { config: { tail } });
    return (await server.request<SessionResponse>('/rdcp/v1/session', { key })).body.otelrdcp_console?.tail;
  };
  assert.deepEqual(await tailOf({ rate: 50 }, 'admin'), { rate: 50, keepSeconds: 60 });
  assert.equal(await tailOf({}, 'control'), undefined);
  assert.deepEqual(await tailOf({ scope: 'control' }, 'control'), { rate: 100, keepSeconds: 60 });
  assert.equal(await tailOf({ scope: 'control' }, 'status'), undefined);
  assert.equal(await tailOf(false, 'admin'), undefined);
});

test('a template of trace addresses is an http or https URL with a place for the id', () => {
  for (const traceUrl of [
    'traces.example.com/{traceId}',
    'https://traces.example.com/',
    'javascript:alert("{traceId}")',
    'data:text/html,{traceId}',
    'https://user:pass@traces.example.com/{traceId}',
    '//traces.example.com/{traceId}',
    `https://traces.example.com/{traceId}/${'x'.repeat(2000)}`,
  ]) {
    assert.throws(() => parseConfig({ console: { traceUrl } }), /console.traceUrl/, traceUrl);
  }
  for (const traceUrl of [
    'http://localhost:16686/trace/{traceId}',
    'https://grafana.example.com/explore?left={"queries":[{"query":"{traceId}"}]}&span={spanId}',
  ]) {
    assert.doesNotThrow(() => parseConfig({ console: { traceUrl } }), traceUrl);
  }
});

test('files are limited by address, and cost neither the limit of guesses nor that of operators', async (t) => {
  const server = await startServer(t, { config: { limits: { readPerMinute: 3, anonymousPerMinute: 1 } } });
  const statuses = [];
  for (let count = 0; count < 5; count += 1) statuses.push((await fetch(server.url + PAGE)).status);
  assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
  assert.equal((await server.request('/rdcp/v1/session', { key: 'status' })).status, 200);
  assert.equal((await server.request('/rdcp/v1/session')).status, 401);
  assert.equal((await server.request('/rdcp/v1/session')).status, 429);
});
