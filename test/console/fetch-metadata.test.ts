import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { KEYS, startServer } from '../support/server.ts';

const LINK = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document', 'Sec-Fetch-User': '?1' };

/** Written by hand, because fetch does not let its caller set these headers. */
async function statusOf(url: string, path: string, headers: object, method = 'GET'): Promise<number | undefined> {
  const sent = Object.entries({ Host: new URL(url).host, ...headers });
  return parseAnswer(await exchange(url, requestText(method, path, sent)))?.status;
}

test('a request that a page of another site starts is refused on every path, with a good key too', async (t) => {
  const server = await startServer(t);
  const key = { 'X-RDCP-API-Key': KEYS.admin };
  for (const site of ['cross-site', 'same-site', 'same-origin, cross-site']) {
    for (const path of [
      ...Object.values(PATHS),
      '/rdcp/console/console.js',
      '/rdcp/console/icon.svg',
      '/rdcp/v1/none',
    ]) {
      assert.equal(await statusOf(server.url, path, { 'Sec-Fetch-Site': site, ...key }), 403, `${site} ${path}`);
      assert.equal(
        await statusOf(server.url, path, { 'Sec-Fetch-Site': site, ...LINK, ...key }),
        403,
        `${site} ${path}`,
      );
    }
  }
  const { body } = await server.request<AuditResponse>(PATHS.audit, { key: 'admin' });
  assert.ok(body.entries.some(({ outcome, error }) => outcome === 'denied' && error === 'RDCP_FORBIDDEN'));
});

test('the page itself, the address bar and clients that are no browsers are served', async (t) => {
  const { url } = await startServer(t);
  for (const headers of [{}, { 'Sec-Fetch-Site': 'same-origin' }, { 'Sec-Fetch-Site': 'none', ...LINK }]) {
    assert.equal(await statusOf(url, PATHS.wellKnown, headers), 200, JSON.stringify(headers));
    assert.equal(await statusOf(url, PATHS.status, { ...headers, 'X-RDCP-API-Key': KEYS.status }), 200);
  }
});

test('a link from anywhere leads to the console, as a whole page and not as a part of another one', async (t) => {
  const { url } = await startServer(t);
  for (const site of ['cross-site', 'same-site']) {
    const from = { 'Sec-Fetch-Site': site };
    assert.equal(await statusOf(url, '/rdcp/console/', { ...from, ...LINK }), 200);
    assert.equal(await statusOf(url, '/rdcp/console', { ...from, ...LINK }), 308);
    assert.equal(await statusOf(url, '/rdcp/console/?x', { ...from, ...LINK }), 200);
    for (const [what, headers, method] of [
      ['a frame', { ...LINK, 'Sec-Fetch-Dest': 'iframe' }, 'GET'],
      ['an object', { ...LINK, 'Sec-Fetch-Dest': 'object' }, 'GET'],
      ['two destinations', { ...LINK, 'Sec-Fetch-Dest': 'document, iframe' }, 'GET'],
      ['fetch', { 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'empty' }, 'GET'],
      ['an image', { 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' }, 'GET'],
      ['a form', LINK, 'POST'],
      ['no word of what for', {}, 'GET'],
    ] as const) {
      assert.equal(await statusOf(url, '/rdcp/console/', { ...from, ...headers }, method), 403, `${site}: ${what}`);
    }
  }
});
