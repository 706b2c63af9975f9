// In a process of its own: it switches categories of the process.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { createRdcpClient } from '../../src/client.ts';
import { createRdcp } from '../../src/index.ts';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import { PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import { makeKey } from '../auth/records.ts';
import { AUDIENCE, claims, ISSUER, SECRET, secretBytes, sign } from '../auth/tokens.ts';
import { ACCESS_TOKEN, TOKEN_EXCHANGE, tokenSettings } from '../server/tokens.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { newFolder } from '../support/folder.ts';
import { http2Request, http2Session } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

const TENANTS = ['acme', 'b*'];
const oncall = makeKey({ id: 'oncall', clientId: 'oncall', scopes: ['admin'], tenants: TENANTS });

/** A service with tenants, and the category TENANTS_POOL. */
async function start(config: RdcpConfig) {
  const service = createRdcp({
    tenancy: { isolation: 'organization' },
    emit: { to: () => undefined },
    announce: false,
    ...config,
    server: { port: 0, ...config.server },
  });
  service.category('TENANTS_POOL');
  const { url } = await service.listen();
  return { url, close: () => service.close() };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('any credential with a list of tenants addresses these, one a request, and nothing else', () => {
  const authority = createAuthority();
  const certificate = authority.issue('localhost', { usage: 'server' });
  /** One with an identity, and one that opens the connection alone. */
  const people = {
    oncall: authority.issue('oncall', { usage: 'client' }),
    stranger: authority.issue('stranger', { usage: 'client' }),
  };
  let service: Awaited<ReturnType<typeof start>>;
  before(async () => {
    service = await start({
      server: {
        tls: writePems({ certFile: certificate.cert, keyFile: certificate.key, clientCaFile: authority.cert }),
      },
      security: {
        level: 'standard',
        apiKeys: [oncall.record],
        jwt: { issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256'], secret: SECRET },
        tokens: tokenSettings,
        mtls: { identities: [{ subject: 'CN=oncall', userId: 'oncall', scopes: ['admin'], tenants: TENANTS }] },
      },
    });
  });
  after(() => service.close());

  async function connect(t: TestContext, person: keyof typeof people) {
    const { cert, key } = people[person];
    const session = await http2Session(t, service.url, { ca: authority.cert, cert, key });
    return async (path: string, headers: object, body?: string) => {
      const method = body === undefined ? 'GET' : 'POST';
      const { status, text } = await http2Request(session, { ':path': path, ':method': method, ...headers }, body);
      return { status, body: JSON.parse(text) };
    };
  }

  type Request = Awaited<ReturnType<typeof connect>>;

  async function jwtFor(tenants: readonly string[]): Promise<object> {
    const exp = Math.floor(Date.now() / 1000) + 300;
    const payload = claims({ exp, iat: undefined, scope: 'admin', otelrdcp_tenants: tenants });
    return bearer(await sign(secretBytes(), { alg: 'HS256' }, payload));
  }

  async function exchange(request: Request, token: string): Promise<string> {
    const form = new URLSearchParams({
      grant_type: TOKEN_EXCHANGE,
      subject_token: token,
      subject_token_type: ACCESS_TOKEN,
    });
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status, body } = await request(TOKEN_PATHS.token, type, String(form));
    assert.equal(status, 200, JSON.stringify(body));
    return body.access_token;
  }

  const credentials: readonly (readonly [
    what: string,
    person: keyof typeof people,
    headers: (request: Request) => Promise<object>,
  ])[] = [
    ['an API key', 'stranger', async () => ({ 'x-rdcp-api-key': oncall.key })],
    ['a certificate', 'oncall', async () => ({})],
    ['a JWT', 'stranger', () => jwtFor(TENANTS)],
    ['a token for a key', 'stranger', async (request) => bearer(await exchange(request, oncall.key))],
    [
      'a token for a token',
      'stranger',
      async (request) => bearer(await exchange(request, await exchange(request, oncall.key))),
    ],
    ['a certificate and a JWT that has more', 'oncall', () => jwtFor(['acme', 'b*', 'globex'])],
    ['a certificate and a JWT for all tenants', 'oncall', () => jwtFor(['*'])],
  ];
  for (const [what, person, headersOf] of credentials) {
    it(what, async (t) => {
      const request = await connect(t, person);
      const headers = await headersOf(request);
      const { body: session } = await request(PATHS.session, headers);
      assert.deepEqual(session.otelrdcp_tenants, TENANTS);
      const command = JSON.stringify({ action: 'enable', categories: ['TENANTS_POOL'] });
      const json = { 'content-type': 'application/json' };
      for (const [tenant, read, status] of [
        ['acme', 200, 200],
        ['bravo', 200, 200],
        ['globex', 403, 403],
        ['global', 200, 400],
        [undefined, 200, 400],
      ] as const) {
        const named = { ...headers, ...(tenant !== undefined && { 'x-rdcp-tenant-id': tenant }) };
        const listed = await request(PATHS.discovery, named);
        assert.equal(listed.status, read, `${tenant}: ${JSON.stringify(listed.body)}`);
        if (read === 200) assert.equal(listed.body.tenant.id, tenant ?? 'global');
        assert.equal((await request(PATHS.control, { ...named, ...json }, command)).status, status, tenant);
        if (read !== 200) assert.equal((await request(PATHS.events, named)).status, read, tenant);
      }
    });
  }

  it('a certificate and a JWT that have no tenant in common are refused', async (t) => {
    const request = await connect(t, 'oncall');
    assert.equal((await request(PATHS.session, await jwtFor(['globex']))).status, 401);
  });
});

describe('a credential whose key changes its tenants', () => {
  /** A service whose keys file is changed, and two credentials of its key. */
  async function withKeysFile(t: TestContext) {
    const file = join(newFolder(t), 'keys.json');
    const write = (changes: Partial<ApiKeyRecord>) =>
      writeFileSync(file, JSON.stringify({ keys: [{ ...oncall.record, ...changes }] }));
    write({});
    const { url: baseUrl, close } = await start({
      security: { level: 'standard', apiKeys: { file }, tokens: tokenSettings },
    });
    t.after(close);
    const { tokens } = createRdcpClient({ baseUrl, apiKey: oncall.key });
    const issued = await tokens.exchange();
    const byToken = (token: string, tenantId?: string) =>
      createRdcpClient({ baseUrl, token, ...(tenantId !== undefined && { tenantId }) });
    const change = async (tenants: readonly string[]) => {
      write({ tenants });
      const key = createRdcpClient({ baseUrl, apiKey: oncall.key });
      await until('the keys file is read', async () => {
        const { otelrdcp_tenants: now } = await key.session();
        return now?.join() === tenants.join();
      });
    };
    return { baseUrl, tokens, issued, byToken, write, change };
  }

  it('names what both the key and its token may', async (t) => {
    const { tokens, issued, byToken, change } = await withKeysFile(t);
    const tenantsOf = async (token: string) => (await byToken(token).session()).otelrdcp_tenants;
    await change(['bravo', 'globex']);
    assert.deepEqual(await tenantsOf(issued.access_token), ['bravo'], 'narrower');
    const refreshed = await tokens.refresh(issued.refresh_token ?? '');
    assert.deepEqual(await tenantsOf(refreshed.access_token), ['bravo']);
    const { otelrdcp_tenants: claimed } = JSON.parse(
      Buffer.from(refreshed.access_token.split('.')[1] ?? '', 'base64url').toString(),
    );
    assert.deepEqual(claimed, ['bravo'], 'other services see it too');
    await change(['*']);
    assert.deepEqual(await tenantsOf(issued.access_token), TENANTS, 'no more than it was issued for');
    await change(['globex']);
    await assert.rejects(tenantsOf(issued.access_token), { code: 'RDCP_AUTH_FAILED' });
    await assert.rejects(tokens.refresh(refreshed.refresh_token ?? ''), { code: 'RDCP_AUTH_FAILED' });
  });

  for (const [what, credentialOf] of [
    ['a key', () => ({ apiKey: oncall.key })],
    ['a token', (token: string) => ({ token })],
  ] as const) {
    it(`loses the open streams of a tenant that it may name no more: ${what}`, async (t) => {
      const { baseUrl, issued, write } = await withKeysFile(t);
      const client = createRdcpClient({ baseUrl, ...credentialOf(issued.access_token), tenantId: 'acme' });
      const events = client.events();
      await events.next();
      const lost = assert.rejects(
        (async () => {
          for await (const _ of events);
        })(),
        { code: 'RDCP_UNAVAILABLE' },
      );
      let reason: unknown;
      for await (const { event, data } of client.tail('TENANTS_POOL', { duration: '5m' })) {
        if (event === 'start') write({ tenants: ['bravo'] });
        if (event === 'end') reason = data.reason;
      }
      assert.equal(reason, 'revoked');
      await lost;
      await assert.rejects(client.discovery(), { code: /^RDCP_(?:FORBIDDEN|AUTH_FAILED)$/ });
    });
  }
});
