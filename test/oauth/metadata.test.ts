import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import express from 'express';
import * as oauth from 'openid-client';
import type { RdcpConfig } from '../../src/options/options.ts';
import { PATHS, SCOPES, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { WellKnownDocument } from '../../src/wire/messages.ts';
import type { AuthorizationServerMetadata } from '../../src/wire/oauth-messages.ts';
import { startTokenServer, TOKEN_EXCHANGE, tokenSettings } from '../server/tokens.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { serve } from '../support/serve.ts';
import { assembleApp, KEYS, send } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { getOverTls } from '../support/tls-client.ts';
import { startAuthorizationServer } from './authorization-server.ts';

test('the metadata says what is true of this server', async (t) => {
  const server = await startAuthorizationServer(t);
  const { status, headers, body } = await server.request<AuthorizationServerMetadata>(TOKEN_PATHS.metadata);
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  const { issuer } = server;
  assert.deepEqual(body, {
    issuer,
    token_endpoint: `${issuer}/rdcp/v1/token`,
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    revocation_endpoint: `${issuer}/rdcp/v1/token/revoke`,
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    grant_types_supported: ['client_credentials', 'refresh_token', TOKEN_EXCHANGE],
    response_types_supported: [],
    scopes_supported: [...SCOPES],
    tls_client_certificate_bound_access_tokens: false,
  });
  assert.equal((await server.request(TOKEN_PATHS.metadata, { method: 'HEAD' })).text, '');
  const { body: document } = await server.request<WellKnownDocument>(PATHS.wellKnown);
  assert.equal(document.otelrdcp_endpoints.metadata, TOKEN_PATHS.metadata);
});

test('with client certificates the metadata says that tokens are bound to them', async (t) => {
  const authority = createAuthority();
  const [server, client] = [
    authority.issue('localhost', { usage: 'server' }),
    authority.issue('ann', { usage: 'client' }),
  ];
  const { cert, key, ca } = writePems({ cert: server.cert, key: server.key, ca: authority.cert });
  const { url } = await startTokenServer(
    t,
    { level: 'enterprise' },
    { config: { server: { tls: { certFile: cert, keyFile: key, clientCaFile: ca } } } },
  );
  const { text } = await getOverTls(url + TOKEN_PATHS.metadata, { ca: authority.cert, ...client });
  assert.equal(JSON.parse(text).tls_client_certificate_bound_access_tokens, true);
});

/** An application that is its own server, at an address that is known before anything is mounted. */
async function serveIssuer(t: TestContext, application: (issuer: string) => Promise<RequestListener>): Promise<string> {
  const { server, url } = await serve(t);
  server.on('request', await application(url));
  return url;
}

const tokensOf = async (t: TestContext, issuer: string) =>
  (
    await assembleApp(t, {
      config: { server: false, security: { level: 'standard', tokens: { ...tokenSettings, issuer } } },
    })
  ).handler;

const metadataAt = async (url: string) => {
  const answer = await fetch(url);
  return answer.status === 200 ? ((await answer.json()) as { issuer: string; token_endpoint: string }) : answer.status;
};

test('mounted below a path, the path is part of the issuer, and a client finds it by RFC 8414', async (t) => {
  const address = await serveIssuer(t, async (origin) => {
    const rdcp = await tokensOf(t, `${origin}/orders`);
    // The well-known path of an issuer with a path lies outside of that path.
    return express().use('/orders', rdcp).get(`${TOKEN_PATHS.metadata}/orders`, rdcp);
  });
  const issuer = `${address}/orders`;
  const config = await oauth.discovery(new URL(issuer), 'operator-client', KEYS.operator, undefined, {
    algorithm: 'oauth2',
    execute: [oauth.allowInsecureRequests],
  });
  assert.equal(config.serverMetadata().token_endpoint, `${issuer}${TOKEN_PATHS.token}`);
  assert.equal((await oauth.clientCredentialsGrant(config, {})).token_type, 'bearer');
  // Where other clients look for it.
  assert.partialDeepStrictEqual(await metadataAt(`${issuer}${TOKEN_PATHS.metadata}`), { issuer });
  assert.equal(await metadataAt(`${address}${TOKEN_PATHS.metadata}/other`), 404);
});

test('an application keeps metadata of its own, where its address is not that of our issuer', async (t) => {
  const own = { issuer: 'the application’s own' };
  const withOwn = (rdcp: ReturnType<typeof express>) =>
    express()
      .use(rdcp)
      .get(TOKEN_PATHS.metadata, (_req, res) => void res.json(own));
  const below = await serveIssuer(t, async (origin) => withOwn(express().use(await tokensOf(t, `${origin}/orders/`))));
  assert.deepEqual(await metadataAt(below + TOKEN_PATHS.metadata), own);
  assert.partialDeepStrictEqual(await metadataAt(`${below}${TOKEN_PATHS.metadata}/orders?x=1`), {
    issuer: `${below}/orders/`,
    token_endpoint: `${below}/orders${TOKEN_PATHS.token}`,
  });
  const without = await serveIssuer(t, async () =>
    withOwn(express().use((await assembleApp(t, { config: { server: false } })).handler)),
  );
  assert.deepEqual(await metadataAt(without + TOKEN_PATHS.metadata), own, 'without tokens the path is not ours');
  const atRoot = await serveIssuer(t, async (origin) => withOwn(express().use(await tokensOf(t, origin))));
  assert.partialDeepStrictEqual(await metadataAt(atRoot + TOKEN_PATHS.metadata), { issuer: atRoot });
});

test('behind a proxy that takes a path away, both addresses of the metadata are answered', async (t) => {
  const issuer = 'https://service.example/a%20(b):c';
  const server = await startTokenServer(t, { tokens: { ...tokenSettings, issuer } });
  for (const path of [TOKEN_PATHS.metadata, `${TOKEN_PATHS.metadata}/a%20(b):c`]) {
    const { status, body } = await server.request<AuthorizationServerMetadata>(path);
    assert.deepEqual([status, body.token_endpoint], [200, `${issuer}${TOKEN_PATHS.token}`], path);
  }
  const wrong = await send(`${server.url}${TOKEN_PATHS.metadata}/a`);
  assert.deepEqual([wrong.status, wrong.body.error.code], [404, 'RDCP_NOT_FOUND']);
});

test('an issuer that is no address has no metadata, and the start says so once', async (t) => {
  for (const [issuer, served, told] of [
    ['orders', false, /security\.tokens\.issuer is not a URL: .* such as https:/],
    ['urn:example:orders', false, /is not a URL/],
    ['https://service.example/?tenant=a', false, /is not a URL/],
    ['https://ann:secret@service.example', false, /is not a URL/],
    ['http://service.example', true, /is not https/],
    ['https://service.example', true, undefined],
    ['http://localhost:9465', true, undefined],
    ['http://[::1]:9465/orders', true, undefined],
  ] as const) {
    const security: RdcpConfig['security'] = {
      level: 'standard',
      apiKeys: [],
      tokens: { ...tokenSettings, issuer },
    };
    const { url, lines } = await startService(t, { security });
    const { status } = await send(url + TOKEN_PATHS.metadata);
    assert.equal(status, served ? 200 : 404, issuer);
    const { body } = await send<WellKnownDocument>(url + PATHS.wellKnown);
    assert.equal('metadata' in body.otelrdcp_endpoints, served, issuer);
    assert.equal(lines.length, told === undefined ? 0 : 1, issuer);
    if (told !== undefined) assert.match(lines[0] ?? '', told);
    assert.ok(!lines.join('').includes('secret'));
  }
});
