import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { test } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import type { RequestHandler } from '../../src/endpoint/app.ts';
import { clientCertificateOf } from '../../src/endpoint/request.ts';
import { type Certificate, createAuthority, writePems } from '../support/certificate.ts';
import { listen } from '../support/listening.ts';
import { getOverTls, http2Request, http2Session } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

const authority = createAuthority();
const server = authority.issue('localhost', { usage: 'server' });

/** The files of a listener that requires client certificates; `crlFile` revokes nothing yet. */
function files() {
  return writePems({
    certFile: server.cert,
    keyFile: server.key,
    clientCaFile: authority.cert,
    crlFile: authority.revocationList(),
  });
}

function as({ cert, key }: Certificate): ConnectionOptions {
  return { ca: authority.cert, cert, key };
}

const client = (commonName = 'client') => authority.issue(commonName, { usage: 'client' });

const whoAmI: RequestHandler = (req, res) => void res.end(clientCertificateOf(req)?.certificate.subject ?? 'nobody');

function refused(url: string, tls: ConnectionOptions): Promise<void> {
  // The client of TLS 1.3 is done before the server has judged it, and learns of the refusal as an alert or a reset.
  return assert.rejects(getOverTls(url, tls), (error: NodeJS.ErrnoException) =>
    /^ERR_SSL_|^ECONNRESET$|^EPIPE$/.test(error.code ?? ''),
  );
}

test('the certificate of the connection reaches the handler, also over HTTP/2', async (t) => {
  const url = await listen(t, { tls: files() }, (req, res) => {
    assert.equal(clientCertificateOf(req)?.authorized, true);
    whoAmI(req, res);
  });
  const session = await http2Session(t, url, as(client('ada')));
  for (let request = 0; request < 3; request++) {
    assert.equal((await http2Request(session, { ':path': '/' })).text, 'CN=ada');
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ben = { ...as(client('ben')), agent } as ConnectionOptions;
  for (let request = 0; request < 3; request++) assert.equal((await getOverTls(url, ben)).text, 'CN=ben');
});

test('a chain over a subordinate authority is accepted, whether the client or the server knows the subordinate', async (t) => {
  const subordinate = authority.subordinate('Subordinate');
  const leaf = subordinate.issue('deep', { usage: 'client' });
  const lists = authority.revocationList() + subordinate.revocationList();
  const common = { certFile: server.cert, keyFile: server.key, crlFile: lists };
  const sent = await listen(t, { tls: writePems({ ...common, clientCaFile: authority.cert }) }, whoAmI);
  assert.equal((await getOverTls(sent, as({ ...leaf, cert: leaf.cert + subordinate.cert }))).text, 'CN=deep');
  await refused(sent, as(leaf));
  const known = await listen(
    t,
    { tls: writePems({ ...common, clientCaFile: authority.cert + subordinate.cert }) },
    whoAmI,
  );
  assert.equal((await getOverTls(known, as(leaf))).text, 'CN=deep');
});

/** Connects, takes the session that the server offers, and tells whether it was resumed. */
async function handshake(url: string, tls: ConnectionOptions) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), servername: 'localhost', ...tls });
  const sessions: Buffer[] = [];
  let resumed = false;
  socket.on('session', (session) => sessions.push(session));
  socket.on('error', () => undefined);
  socket.once('secureConnect', () => {
    resumed = socket.isSessionReused();
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => socket.once('close', resolve));
  return { session: sessions.at(-1), resumed, text: Buffer.concat(chunks).toString() };
}

test('a session cannot be resumed: neither without a certificate, nor with one that was revoked since', async (t) => {
  const paths = files();
  const url = await listen(t, { tls: paths }, whoAmI, { timeouts: { reloadMs: 20 } });
  const ada = client('ada');
  const first = await handshake(url, as(ada));
  assert.match(first.text, /CN=ada/);

  const again = await handshake(url, { ...as(ada), session: first.session });
  assert.equal(again.resumed, false);
  assert.match(again.text, /CN=ada/);

  const without = await handshake(url, { ca: authority.cert, session: first.session });
  assert.equal(without.text, '');

  writeFileSync(paths.crlFile, authority.revocationList([ada.serial]));
  await untilRefused(url, as(ada));
  assert.equal((await handshake(url, { ...as(ada), session: first.session })).text, '');
});

async function untilRefused(url: string, tls: ConnectionOptions): Promise<void> {
  const isRefused = () =>
    getOverTls(url, tls).then(
      () => false,
      () => true,
    );
  await until('the client is refused', isRefused);
}

test('a revocation list that is replaced ends every open connection; who is still trusted connects again', async (t) => {
  const paths = files();
  const url = await listen(t, { tls: paths }, whoAmI, { timeouts: { reloadMs: 20, keepAliveMs: 60_000 } });
  const [ada, ben] = [client('ada'), client('ben')];
  const agents = [ada, ben].map((it) => new Agent({ keepAlive: true, maxSockets: 1, ...as(it) }));
  t.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const sessions = [await http2Session(t, url, as(ada)), await http2Session(t, url, as(ben))];
  for (const agent of agents) await getOverTls(url, { agent } as ConnectionOptions);
  for (const session of sessions) await http2Request(session, { ':path': '/' });
  const sockets = agents.flatMap((agent) => Object.values(agent.freeSockets).flat());
  assert.equal(sockets.length, 2);
  const ended = [...sessions, ...sockets].map((each) => once(each as object as NodeJS.EventEmitter, 'close'));

  writeFileSync(paths.crlFile, authority.revocationList([ada.serial]));
  await Promise.all(ended);
  await refused(url, as(ada));
  assert.equal((await getOverTls(url, as(ben))).text, 'CN=ben');
  assert.equal((await http2Request(await http2Session(t, url, as(ben)), { ':path': '/' })).text, 'CN=ben');
});

test('an authority that is taken out ends the connections of its clients; one that is put in is believed', async (t) => {
  const other = createAuthority();
  const paths = writePems({ certFile: server.cert, keyFile: server.key, clientCaFile: authority.cert });
  const url = await listen(t, { tls: paths }, whoAmI, { timeouts: { reloadMs: 20, keepAliveMs: 60_000 } });
  const session = await http2Session(t, url, as(client('ada')));
  const theirs = as(other.issue('eve', { usage: 'client' }));
  await refused(url, theirs);

  const closed = once(session, 'close');
  writeFileSync(paths.clientCaFile, other.cert);
  await closed;
  await refused(url, as(client()));
  assert.equal((await getOverTls(url, theirs)).text, 'CN=eve');
});

test('a connection ends when its certificate expires', async (t) => {
  const url = await listen(t, { tls: files() }, whoAmI, { timeouts: { reloadMs: 20, keepAliveMs: 60_000 } });
  // The dates of certificates have whole seconds; it is connected well before.
  const to = Math.ceil(Date.now() / 1000) * 1000 + 8000;
  const brief = authority.issue('brief', { usage: 'client', to });
  const session = await http2Session(t, url, as(brief));
  const lasting = await http2Session(t, url, as(client('lasting')));
  assert.equal((await http2Request(session, { ':path': '/' })).text, 'CN=brief');
  await once(session, 'close');
  assert.ok(Date.now() >= to);
  assert.equal((await http2Request(lasting, { ':path': '/' })).text, 'CN=lasting');
});
