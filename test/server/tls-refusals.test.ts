import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import type { AuditEntry, AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { createMeasuredTelemetry, samples } from '../metrics/scrape.ts';
import { type Certificate, createAuthority, selfSigned, writePems } from '../support/certificate.ts';
import { startService } from '../support/service.ts';
import { getOverTls, http2Request, http2Session } from '../support/tls-client.ts';

const authority = createAuthority();
const server = authority.issue('localhost', { usage: 'server' });
const robot = authority.issue('robot', { usage: 'client' });
const revoked = authority.issue('revoked', { usage: 'client' });
const HOUR_MS = 3_600_000;

const as = ({ cert, key }: Certificate): ConnectionOptions => ({ ca: authority.cert, cert, key });

/** A whole service at level enterprise, in which the robot may read the trail. */
async function start(t: TestContext) {
  const files = writePems({
    certFile: server.cert,
    keyFile: server.key,
    clientCaFile: authority.cert,
    crlFile: authority.revocationList([revoked.serial]),
  });
  const { telemetry, scrape } = createMeasuredTelemetry();
  const identities = [{ subject: 'CN=robot', userId: 'robot', scopes: ['admin' as const] }];
  const security = { level: 'enterprise' as const, mtls: { identities } };
  const { url } = await startService(t, { server: { port: 0, tls: files }, security }, { telemetry });
  return {
    url,
    files,
    async refusals(): Promise<readonly AuditEntry[]> {
      const { status, text } = await getOverTls(`${url}${PATHS.audit}?outcome=denied`, as(robot));
      assert.equal(status, 200);
      return (JSON.parse(text) as AuditResponse).entries;
    },
    async counted(): Promise<Record<string, number>> {
      return samples(await scrape(), 'rdcp_auth_failures_total', 'rdcp_reason');
    },
  };
}

const REFUSED: Readonly<Record<string, readonly [reason: string, tls: ConnectionOptions]>> = {
  'a missing certificate': ['certificate_missing', { ca: authority.cert }],
  'a revoked certificate': ['certificate_revoked', as(revoked)],
  'an expired certificate': [
    'certificate_expired',
    as(authority.issue('late', { usage: 'client', to: Date.now() - 1000 })),
  ],
  'a certificate that is not valid yet': [
    'certificate_not_yet_valid',
    as(authority.issue('early', { usage: 'client', from: Date.now() + HOUR_MS })),
  ],
  'a certificate of another authority': [
    'certificate_untrusted',
    as(createAuthority().issue('robot', { usage: 'client' })),
  ],
  'a certificate of an authority with the same name': [
    'certificate_untrusted',
    as(createAuthority('Authority 1').issue('robot', { usage: 'client' })),
  ],
  'a self-signed certificate': ['certificate_untrusted', as(selfSigned({ usage: 'client' }))],
  'a certificate for servers': ['certificate_wrong_purpose', as(authority.issue('localhost', { usage: 'server' }))],
};

for (const [what, [reason, tls]] of Object.entries(REFUSED)) {
  test(`${what} leaves one entry and a count, however often and by which HTTP it was tried`, async (t) => {
    const { url, refusals, counted } = await start(t);
    await assert.rejects(getOverTls(url, tls));
    await assert.rejects(getOverTls(url, tls));
    await assert.rejects(async () => http2Request(await http2Session(t, url, tls), { ':path': PATHS.control }));
    const [entry, ...others] = await refusals();
    assert.deepEqual(others, []);
    assert.deepEqual(
      [entry?.action, entry?.outcome, entry?.reason, entry?.count, entry?.source, entry?.identity],
      ['authenticate', 'denied', reason, 3, { address: '127.0.0.1' }, {}],
    );
    assert.equal(entry?.error, reason === 'certificate_missing' ? 'RDCP_AUTH_REQUIRED' : 'RDCP_AUTH_FAILED');
    assert.deepEqual(await counted(), { [reason]: 3 });
  });
}

test('each reason of one address is an entry of its own', async (t) => {
  const { url, refusals } = await start(t);
  for (const [, tls] of Object.values(REFUSED)) await assert.rejects(getOverTls(url, tls));
  const reasons = (await refusals()).map(({ reason }) => reason).sort();
  assert.deepEqual(reasons, [...new Set(Object.values(REFUSED).map(([reason]) => reason))].sort());
});

test('a revocation list that is out of date is named as the reason, not the certificate', async (t) => {
  const { url, files, counted } = await start(t);
  writeFileSync(files.crlFile, authority.revocationList([], Date.now() - 500));
  // The change itself closes a connection too, which is no refusal.
  for (const deadline = performance.now() + 20_000; Object.keys(await counted()).length === 0; ) {
    assert.ok(performance.now() < deadline, 'no client is refused');
    await getOverTls(url, as(robot)).catch(() => undefined);
  }
  assert.deepEqual(Object.keys(await counted()), ['revocation_list_expired']);
});

test('port scanners, plain HTTP, old versions of TLS and broken connections are no refused credential', async (t) => {
  const { url, refusals, counted } = await start(t);
  const port = Number(new URL(url).port);
  for (const sent of [
    '',
    'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
    '\x16\x03\x01 nonsense',
    '\x00\x01\x02\x03\x04',
  ]) {
    const socket = connectPlain(port, '127.0.0.1').on('error', () => undefined);
    socket.end(sent, 'latin1').resume();
    await once(socket, 'close');
  }
  const old = connect({ port, host: '127.0.0.1', maxVersion: 'TLSv1.2', ...as(robot) });
  await once(old, 'error');
  assert.deepEqual(await counted(), {});
  assert.deepEqual(await refusals(), []);
});

test('a key that comes without a certificate is refused before it is read, and recorded', async (t) => {
  const { url, refusals } = await start(t);
  const key = generateApiKey({ env: 'test', randomBytes: (size) => new Uint8Array(size) });
  await assert.rejects(getOverTls(url, { ca: authority.cert, headers: { 'x-rdcp-api-key': key } } as object));
  const entries = await refusals();
  assert.equal(entries[0]?.reason, 'certificate_missing');
  assert.ok(!JSON.stringify(entries).includes(key) && !JSON.stringify(entries).includes(hashApiKey(key)));
});
