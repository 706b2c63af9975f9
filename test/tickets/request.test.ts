// In a process of its own: it follows the HTTP requests of the process.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { issueTicket } from '../../src/access/tickets/issue.ts';
import { runWithTenant } from '../../src/api.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, DiscoveryResponse, ErrorResponse } from '../../src/wire/messages.ts';
import { RECORDS, send, type TestRequest } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { serve } from '../work/following.ts';
import { about, ISSUER, pairs, pemOf, signer } from './tickets.ts';

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Order of the group of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** With (r, s), (r, n - s) is a valid ECDSA signature too. */
function otherSignature(ticket: string): string {
  const [header, claims, signature = ''] = ticket.split('.');
  const [r = '', s = ''] = Buffer.from(signature, 'base64url').toString('hex').match(/.{64}/g) ?? [];
  const hex = r + (ORDER - BigInt(`0x${s}`)).toString(16).padStart(64, '0');
  return `${header}.${claims}.${Buffer.from(hex, 'hex').toString('base64url')}`;
}

/** A service with a category, and the application's own HTTP server, which calls it with the path. */
async function start(t: TestContext, config: RdcpConfig = {}) {
  const lines: string[] = [];
  const { rdcp, url, infos } = await startService(t, {
    emit: { to: ({ message }) => void lines.push(message) },
    ...config,
    security: { apiKeys: RECORDS, ...config.security },
  });
  const category = rdcp.category('DATABASE');
  const shop = await serve(t, async (request, response) => {
    await request.resume().toArray();
    const tenant = request.headers['x-tenant'];
    const call = () => category.debug(`${request.url}`);
    if (typeof tenant === 'string') runWithTenant(tenant, call);
    else call();
    response.end();
  });
  const ask = <Body>(path: string, options: TestRequest = {}) => send<Body>(url + path, { key: 'admin', ...options });
  return {
    lines,
    notices: infos,
    category,
    ask,
    visit: (path: string, headers: Record<string, string> = {}) => fetch(shop + path, { headers }),
    enable: async <Body = ControlResponse>(options: object = {}, rest: TestRequest = {}) =>
      ask<Body>(PATHS.control, {
        method: 'POST',
        body: { action: 'enable', categories: 'DATABASE', options: { otelrdcp_target: { request: true }, ...options } },
        ...rest,
      }),
  };
}

describe('an enable for one request', () => {
  it('has the category on for the work that carries the ticket of the answer alone', async (t) => {
    const { enable, visit, lines, category, ask } = await start(t);
    const { status, body } = await enable({ duration: '10m' });
    assert.equal(status, 200);
    const { baggage, expiresAt } = body.otelrdcp_request!;
    assert.match(baggage, /^rdcp\.debug=rdcp_ticket_[\w-]{22}$/);
    assert.equal(expiresAt, body.otelrdcp_activation?.expiresAt);
    assert.deepEqual(body.otelrdcp_activation?.target, { request: true });
    const visits = Array.from({ length: 40 }, (_, at) => visit(`/${at}`, at % 4 === 0 ? { baggage } : {}));
    await Promise.all(visits);
    await visit('/other', { baggage: `${baggage}x` });
    category.debug('outside of requests');
    assert.deepEqual(lines.sort(), ['/0', '/12', '/16', '/20', '/24', '/28', '/32', '/36', '/4', '/8']);
    const discovered = (await ask<DiscoveryResponse>(PATHS.discovery)).body.categories[0];
    assert.equal(discovered?.enabled, false);
    assert.deepEqual(discovered?.otelrdcp_activations?.[0]?.target, { request: true });
  });

  it('shows its ticket once: not in the trail, the log, a repeated answer or a dry run', async (t) => {
    const { enable, ask, notices } = await start(t);
    const headers = { 'X-RDCP-Request-ID': 'once' };
    const { body } = await enable({}, { headers });
    const ticket = body.otelrdcp_request!.baggage.slice('rdcp.debug='.length);
    const again = await enable({}, { headers });
    assert.equal(again.body.otelrdcp_activation?.id, body.otelrdcp_activation?.id);
    assert.equal(again.body.otelrdcp_request, undefined);
    const dry = await enable({ otelrdcp_dryRun: true });
    assert.equal(dry.body.otelrdcp_request, undefined);
    const { entries } = (await ask<AuditResponse>(PATHS.audit)).body;
    assert.deepEqual(entries.find(({ action }) => action === 'enable')?.otelrdcp_activation?.target, { request: true });
    const seen = JSON.stringify([entries, notices, again.body, dry.body]);
    const hash = createHash('sha256').update(ticket).digest('base64url');
    for (const secret of [ticket, hash]) assert.ok(!seen.includes(secret));
    assert.match(notices.join(), /DATABASE on for work with the ticket for 15m/);
  });

  it('ends with a reset', async (t) => {
    const { enable, visit, lines, ask } = await start(t);
    const { baggage } = (await enable()).body.otelrdcp_request!;
    await ask(PATHS.control, { method: 'POST', body: { action: 'reset', categories: 'DATABASE' } });
    await visit('/', { baggage });
    assert.deepEqual(lines, []);
  });

  for (const [what, options, field] of [
    ['with attributes', { otelrdcp_target: { request: true, match: { a: 'b' } } }, 'options.otelrdcp_target.request'],
    ['that is false', { otelrdcp_target: { request: false } }, 'options.otelrdcp_target.request'],
  ] as const) {
    it(`is refused for a request ${what}`, async (t) => {
      const { enable } = await start(t);
      const { status, body } = await enable<ErrorResponse>(options);
      assert.deepEqual([status, body.error.details?.field], [400, field]);
    });
  }
});

describe('a service that accepts tickets of another', () => {
  const accepting = (more: object = {}): RdcpConfig => ({
    security: { tickets: { issuers: [{ issuer: ISSUER, publicKey: pemOf(pairs.EdDSA.publicKey) }], ...more } },
  });
  const ticket = (changes: Parameters<typeof about>[1] = {}) => {
    const now = Date.now();
    return `rdcp.debug=${issueTicket(about(now, changes), now, signer()).value}`;
  };

  it('has its categories on for the requests that carry a valid one, from the first of them on', async (t) => {
    const { visit, lines, category } = await start(t, accepting());
    const valid = ticket();
    await visit('/1', { baggage: valid });
    await visit('/2');
    await visit('/3', { baggage: `${valid}AAAA` });
    await visit('/4', { baggage: valid });
    category.debug('outside of requests');
    assert.deepEqual(lines, ['/1', '/4']);
  });

  it('gives a ticket one place however it is written, and says once when all 100 are taken', async (t) => {
    const issuers = [pairs.EdDSA, pairs.ES256].map(({ publicKey }, at) => ({
      issuer: `${ISSUER}/${at}`,
      publicKey: pemOf(publicKey),
    }));
    const faults: string[] = [];
    const logger = { info: () => {}, warn: () => {}, error: (line: string) => faults.push(line) };
    const { visit, lines } = await start(t, { logger, security: { tickets: { issuers } } });
    const send = (path: string, value: string) => visit(path, { baggage: `rdcp.debug=${value}` });
    const made = (id: string, alg: 'EdDSA' | 'ES256') => {
      const by = { ...signer(alg), issuer: `${ISSUER}/${alg === 'EdDSA' ? 0 : 1}` };
      return issueTicket(about(Date.now(), { id }), Date.now(), by).value;
    };
    // The last character of 64 bytes in base64url has four bits that no byte is made of.
    const texts = (value: string) =>
      Array.from(
        { length: 16 },
        (_, bits) => value.slice(0, -1) + BASE64URL[(BASE64URL.indexOf(value.at(-1)!) & 48) + bits],
      );
    for (let number = 0; number < 7; number += 1) {
      for (const text of texts(made(`a${number}`, 'EdDSA'))) await send(`/${number}`, text);
    }
    assert.deepEqual(lines, ['/0', '/1', '/2', '/3', '/4', '/5', '/6']);
    const ecdsa = made('a0', 'ES256');
    for (const text of [ecdsa, otherSignature(ecdsa)]) await send('/ecdsa', text);
    assert.equal(lines.length, 8, 'of the two forms of an ECDSA signature, the first');
    for (let number = 8; number < 102; number += 1) await send(`/${number}`, made(`a${number}`, 'EdDSA'));
    assert.deepEqual([lines.length, lines.at(-1)], [100, '/99']);
    assert.deepEqual(faults, [
      'rdcp: a ticket failed: 100 tickets of other services are in use, the most at a time, and further ones switch nothing on',
    ]);
  });

  it('has a tenant of a ticket on for the work of that tenant alone', async (t) => {
    const { visit, lines } = await start(t, { ...accepting(), tenancy: { isolation: 'organization' } });
    const baggage = ticket({ tenantId: 'acme' });
    await visit('/1', { baggage, 'x-tenant': 'acme' });
    await visit('/2', { baggage, 'x-tenant': 'other' });
    await visit('/3', { baggage });
    assert.deepEqual(lines, ['/1']);
  });
});
