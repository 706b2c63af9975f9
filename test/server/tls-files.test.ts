import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, connect } from 'node:tls';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import type { ListenerOptions } from '../../src/endpoint/connections/listener.ts';
import type { AuditEntry, AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { createMeasuredTelemetry, samples } from '../metrics/scrape.ts';
import { type Certificate, createAuthority, selfSigned, writePems } from '../support/certificate.ts';
import { recordConditions } from '../support/conditions.ts';
import { listen, listenerFor } from '../support/listening.ts';
import { startService } from '../support/service.ts';
import { getOverTls, http2Request, http2Session } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

const authority = createAuthority();
const first = authority.issue('localhost', { usage: 'server' });
const second = authority.issue('localhost', { usage: 'server' });
const HOUR_MS = 3_600_000;

const good = {
  certFile: first.cert,
  keyFile: first.key,
  clientCaFile: authority.cert,
  crlFile: authority.revocationList(),
};

async function assertRefused(
  tls: object,
  field: string,
  problem: RegExp,
  options: ListenerOptions = {},
): Promise<void> {
  await assert.rejects(listenerFor({ tls }, undefined, options).listen(), (error) => {
    assert.ok(isRdcpError(error) && error.code === 'RDCP_CONFIG_INVALID');
    assert.equal(error.details?.field, `server.tls.${field}`);
    assert.match(error.message, new RegExp(`^configuration: server\\.tls\\.${field} [^\\n]+$`));
    assert.match(error.message, problem);
    // Neither the path nor what is in the file.
    assert.doesNotMatch(error.message, /rdcp-certificate|\.pem|BEGIN|nonsense/);
    return true;
  });
}

const pem = (label: string) => `-----BEGIN ${label}-----\nnonsense\n-----END ${label}-----`;

test('a file that cannot be used stops the start, which says in one line why', async () => {
  const everyAuthority = /revocation list of every authority/;
  for (const [field, text, problem] of [
    ['certFile', 'nonsense', /no PEM certificate/],
    ['certFile', pem('CERTIFICATE'), /broken certificate/],
    ['keyFile', 'nonsense', /no PEM private key/],
    ['keyFile', second.key, /not the key of the certificate/],
    ['clientCaFile', 'nonsense', /no PEM certificate/],
    ['crlFile', 'nonsense', everyAuthority],
    ['crlFile', pem('X509 CRL'), /broken revocation list/],
  ] as const) {
    await assertRefused(writePems({ ...good, [field]: text }), field, problem);
  }
  const clientCaFile = authority.cert + createAuthority().cert;
  await assertRefused(writePems({ ...good, clientCaFile }), 'crlFile', everyAuthority);
});

test('a file that cannot be read is named by its field, with the reason', async () => {
  for (const field of Object.keys(good)) {
    const paths = { ...writePems(good), [field]: '/nowhere/rdcp-certificate.pem' };
    await assertRefused(paths, field, /cannot be read \(ENOENT\)/);
  }
});

test('a revocation list without authorities is refused', () => {
  const { clientCaFile: _, ...tls } = writePems(good);
  assert.throws(() => listenerFor({ tls }), /server\.tls\.crlFile needs clientCaFile/);
});

test('in production a self-signed certificate is refused; one of an authority, and elsewhere any, is served', async (t) => {
  const { cert, key } = selfSigned();
  const own = writePems({ certFile: cert, keyFile: key });
  await assertRefused(own, 'certFile', /self-signed.*production/, { production: true });
  await listen(t, { tls: own });
  const url = await listen(t, { tls: writePems({ certFile: first.cert, keyFile: first.key }) }, undefined, {
    production: true,
  });
  assert.equal((await getOverTls(url, { ca: authority.cert })).text, 'hello');
});

function recording(options: ListenerOptions = {}) {
  const conditions = recordConditions();
  return { lines: conditions.lines, options: { ...options, conditions } satisfies ListenerOptions };
}

test('dates that are over are said, and stop nothing', async (t) => {
  const expired = authority.issue('localhost', { to: Date.now() - HOUR_MS });
  const early = authority.issue('localhost', { from: Date.now() + HOUR_MS });
  for (const [files, problem] of [
    [{ certFile: expired.cert, keyFile: expired.key }, /certFile is valid from .* to .* only/],
    [{ certFile: early.cert, keyFile: early.key }, /certFile is valid from .* to .* only/],
    [good, undefined],
  ] as const) {
    const { lines, options } = recording();
    await listen(t, { tls: writePems(files) }, undefined, options);
    assert.equal(lines.length, problem === undefined ? 0 : 1);
    if (problem !== undefined) assert.match(lines[0] ?? '', problem);
  }
});

/** The serial number of the certificate that a new connection is shown. */
async function serialOf(url: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), servername: 'localhost', ca: authority.cert });
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  const { raw } = socket.getPeerX509Certificate() ?? {};
  socket.destroy();
  assert.ok(raw !== undefined);
  return Number.parseInt(new X509Certificate(raw).serialNumber, 16);
}

async function untilSerial(url: string, serial: number): Promise<void> {
  await until('the new certificate is in use', async () => (await serialOf(url)) === serial);
}

const RELOAD_MS = 20;

async function reloading(t: TestContext) {
  const paths = writePems({ certFile: first.cert, keyFile: first.key });
  const { lines, options } = recording({ timeouts: { reloadMs: RELOAD_MS } });
  return { paths, lines, url: await listen(t, { tls: paths }, undefined, options) };
}

test('a renewed certificate is in use without a restart, and no request under load fails', async (t) => {
  const { paths, lines, url } = await reloading(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 4, ca: authority.cert });
  t.after(() => agent.destroy());
  let renewing = true;
  const load = async (fresh: boolean) => {
    let requests = 0;
    for (; renewing; requests++) {
      const { text } = await getOverTls(url, fresh ? { ca: authority.cert } : ({ agent } as object));
      assert.equal(text, 'hello');
    }
    return requests;
  };
  const loads = [load(false), load(false), load(false), load(true), load(true)];
  for (const next of [second, first, second]) {
    // As renewal tools do it: a new file takes the place of the old one.
    for (const [path, text] of [
      [paths.certFile, next.cert],
      [paths.keyFile, next.key],
    ] as const) {
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    }
    await untilSerial(url, next.serial);
  }
  renewing = false;
  for (const requests of await Promise.all(loads)) assert.ok(requests > 0);
  assert.deepEqual(lines, []);
});

test('files that cannot be used leave the old ones in use and are said once, with their end; the next good ones are taken', async (t) => {
  const { paths, lines, url } = await reloading(t);
  const reported = async (count: number, problem: RegExp) => {
    await untilSaid(lines, count);
    // Later looks at the same files say nothing more.
    await sleep(10 * RELOAD_MS);
    assert.equal(lines.length, count);
    assert.match(lines.at(-1) ?? '', problem);
    assert.equal(await serialOf(url), first.serial);
  };
  writeFileSync(paths.certFile, 'nonsense');
  await reported(1, /certFile holds no PEM certificate/);
  rmSync(paths.certFile);
  await reported(2, /certFile cannot be read \(ENOENT\)/);
  writeFileSync(paths.certFile, second.cert);
  await reported(4, /keyFile is not the key/);
  assert.equal(lines[2], 'certificate is over');
  writeFileSync(paths.keyFile, second.key);
  await untilSerial(url, second.serial);
  assert.deepEqual(lines.slice(4), ['private_key is over']);
});

test('a certificate that ends while it is in use is said, and its replacement is', async (t) => {
  const soon = Date.now() + 3000;
  const ending = authority.issue('localhost', { usage: 'server', to: soon });
  const paths = writePems({ certFile: ending.cert, keyFile: ending.key });
  const { lines, options } = recording({ timeouts: { reloadMs: RELOAD_MS } });
  await listen(t, { tls: paths }, undefined, options);
  await untilSaid(lines, 1);
  assert.match(lines[0] ?? '', /^server\.tls\.certFile is valid .* only/);
  writeFileSync(paths.certFile, first.cert);
  writeFileSync(paths.keyFile, first.key);
  await untilSaid(lines, 2);
  assert.deepEqual(lines.slice(1), ['certificate_dates is over']);
});

test('a revocation list that is out of date, or was cut off, is said, and its replacement is', async (t) => {
  const paths = writePems({ ...good, crlFile: authority.revocationList([], Date.now() - HOUR_MS) });
  const { lines, options } = recording({ timeouts: { reloadMs: RELOAD_MS } });
  const url = await listen(t, { tls: paths }, undefined, options);
  const { cert, key, serial } = authority.issue('client', { usage: 'client' });
  await assert.rejects(getOverTls(url, { ca: authority.cert, cert, key }));
  await untilSaid(lines, 1);
  assert.match(lines[0] ?? '', /^server\.tls\.crlFile is out of date/);
  writeFileSync(paths.crlFile, authority.revocationList());
  await untilSaid(lines, 2);
  assert.deepEqual(lines.splice(0).slice(1), ['crl_dates is over']);
  assert.equal((await getOverTls(url, { ca: authority.cert, cert, key })).text, 'hello');
  const list = authority.revocationList([serial]);
  writeFileSync(paths.crlFile, list.slice(0, list.length / 2));
  await untilSaid(lines, 1);
  const cutOff = 'server.tls.crlFile must hold a revocation list of every authority in server.tls.clientCaFile';
  assert.deepEqual(lines, [cutOff], 'the one before stays in force');
  assert.equal((await getOverTls(url, { ca: authority.cert, cert, key })).text, 'hello');
  writeFileSync(paths.crlFile, list);
  await untilSaid(lines, 2);
  assert.deepEqual(lines, [cutOff, 'crl is over']);
  await assert.rejects(getOverTls(url, { ca: authority.cert, cert, key }));
});

async function untilSaid(lines: readonly string[], count: number): Promise<void> {
  await until(`${count} lines`, () => lines.length >= count, 20_000).catch((error: Error) => {
    throw new Error(`${error.message}, only: ${lines.join('; ')}`);
  });
}

test('a listener that is closed looks at its files no more', async () => {
  const paths = writePems({ certFile: first.cert, keyFile: first.key });
  const { lines, options } = recording({ timeouts: { reloadMs: RELOAD_MS } });
  const listener = listenerFor({ tls: paths }, undefined, options);
  await listener.listen();
  await listener.close();
  rmSync(paths.certFile);
  // Nothing happens after a close that could be waited for.
  await sleep(5 * RELOAD_MS);
  assert.deepEqual(lines, []);
});

const server = authority.issue('localhost', { usage: 'server' });
const robot = authority.issue('robot', { usage: 'client' });
const revoked = authority.issue('revoked', { usage: 'client' });
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

test('a refused client certificate leaves one entry and a count for its reason, by whichever HTTP it came', async (t) => {
  const { url, refusals, counted } = await start(t);
  const expected: Record<string, number> = {};
  for (const [what, [reason, tls]] of Object.entries(REFUSED)) {
    await assert.rejects(getOverTls(url, tls), what);
    await assert.rejects(async () => http2Request(await http2Session(t, url, tls), { ':path': PATHS.control }), what);
    expected[reason] = (expected[reason] ?? 0) + 2;
  }
  const entries = await refusals();
  assert.deepEqual(Object.fromEntries(entries.map(({ reason, count }) => [reason, count])), expected);
  assert.equal(entries.length, Object.keys(expected).length);
  for (const { action, outcome, source, identity, reason, error } of entries) {
    const code = reason === 'certificate_missing' ? 'RDCP_AUTH_REQUIRED' : 'RDCP_AUTH_FAILED';
    const entry = ['authenticate', 'denied', { address: '127.0.0.1' }, {}, code];
    assert.deepEqual([action, outcome, source, identity, error], entry, reason);
  }
  assert.deepEqual(await counted(), expected);
});

test('a revocation list that is out of date is named as the reason, not the certificate', async (t) => {
  const { url, files, counted } = await start(t);
  writeFileSync(files.crlFile, authority.revocationList([], Date.now() - 500));
  // The change itself closes a connection too, which is no refusal.
  await until('a client is refused', async () => {
    await getOverTls(url, as(robot)).catch(() => undefined);
    return Object.keys(await counted()).length > 0;
  });
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
  await assert.rejects(getOverTls(url, { maxVersion: 'TLSv1.2', ...as(robot) }));
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
