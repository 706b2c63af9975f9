import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeKey } from '../auth/records.ts';
import { createAuthority } from '../support/certificate.ts';
import { portOf } from '../support/listening.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const authority = createAuthority();
/** What the process trusts before and after. */
const usual = getCACertificates('default');
const HOUR_MS = 3_600_000;

describe('a receiver with a certificate', { concurrency: true }, () => {
  before(() => setDefaultCACertificates([...usual, authority.cert]));
  after(() => setDefaultCACertificates(usual));

  for (const [what, host, { by = authority, ...dates }, code] of [
    ['is for another name', '127.0.0.2', {}, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['has expired', '127.0.0.1', { from: Date.now() - 2 * HOUR_MS, to: Date.now() - HOUR_MS }, 'CERT_HAS_EXPIRED'],
    ['is not valid yet', '127.0.0.1', { from: Date.now() + HOUR_MS }, 'CERT_NOT_YET_VALID'],
    ['is of an unknown authority', '127.0.0.1', { by: createAuthority() }, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['is in order', '127.0.0.1', {}, undefined],
  ] satisfies [string, string, { by?: typeof authority; from?: number; to?: number }, string | undefined][]) {
    test(`that ${what}`, async (t) => {
      const { cert, key } = by.issue('localhost', { usage: 'server', ...dates });
      let [requests, connections] = [0, 0];
      const receiver = createServer({ cert, key }, (_request, response) => {
        requests += 1;
        response.writeHead(204).end();
      });
      receiver.on('connection', () => {
        connections += 1;
      });
      const admin = makeKey({ scopes: ['admin'] });
      const address = `${host}:${await portOf(t, receiver, host)}`;
      const { lines: warnings, clientOf } = await startService(t, {
        security: { apiKeys: [admin.record] },
        categories: { NOTIFIED: {} },
        notify: { webhook: { url: `https://${address}/hooks/a-secret-of-its-own`, format: 'slack' } },
        announce: false,
      });
      const client = clientOf(admin.key);
      await client.enable('NOTIFIED', { duration: '5m' });
      if (code === undefined) {
        await until('the first request', async () => (requests > 0 ? true : undefined));
        assert.equal((await client.health()).status, 'healthy');
        return;
      }
      const health = await until('degraded health', async () => {
        const found = await client.health();
        return found.status === 'healthy' ? undefined : found;
      });
      const reasons = health.checks.flatMap(({ otelrdcp_reason: reason }) => reason ?? []);
      assert.deepEqual(reasons, [`notifications to ${address} fail: it cannot be reached (${code})`]);
      assert.equal(health.status, 'degraded');
      assert.equal(requests, 0, 'nothing was sent');
      assert.ok(connections >= 2, `${connections} attempts`);
      assert.ok(warnings.some((line) => line.includes(`${address} fail`)));
      assert.ok(warnings.every((line) => !line.includes('a-secret-of-its-own')));
    });
  }
});
