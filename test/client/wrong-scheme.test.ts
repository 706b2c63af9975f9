import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createRdcpClient, isRdcpError } from '../../src/client.ts';
import { rdcp } from '../cli/run.ts';
import { writeCertificate } from '../support/certificate.ts';
import { listen, portOf } from '../support/listening.ts';

const placeOf = async (t: TestContext, server: Server) => `127.0.0.1:${await portOf(t, server)}`;

async function messageOf(baseUrl: string): Promise<string> {
  const failed = await createRdcpClient({ baseUrl })
    .health()
    .catch((error: unknown) => error);
  assert.ok(isRdcpError(failed), String(failed));
  assert.equal(failed.code, 'RDCP_UNAVAILABLE');
  return failed.message;
}

test('http:// to our TLS port says that it speaks HTTPS, to the client and on the command line', async (t) => {
  const { cert: _, ...tls } = writeCertificate();
  const https = await listen(t, { tls });
  const http = https.replace('https:', 'http:');
  assert.equal(await messageOf(http), `The server at ${http} speaks HTTPS: use ${https}`);
  const { code, stderr } = await rdcp(['health', '--url', http]);
  assert.notEqual(code, 0);
  assert.equal(stderr, `rdcp: RDCP_UNAVAILABLE: The server at ${http} speaks HTTPS: use ${https}\n`);
});

test('https:// to our plain port says that it speaks plain HTTP', async (t) => {
  const http = await listen(t);
  const https = http.replace('http:', 'https:');
  assert.equal(await messageOf(https), `The server at ${https} speaks plain HTTP: use ${http}`);
});

test('http:// to the TLS port of a server that answers with an alert says that it speaks HTTPS', async (t) => {
  const alerting = createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.from('15030300020246', 'hex')));
  });
  const at = await placeOf(t, alerting);
  assert.equal(await messageOf(`http://${at}`), `The server at http://${at} speaks HTTPS: use https://${at}`);
});

test('a TLS port that answers in one of the sentences of servers is recognized', async (t) => {
  for (const sentence of [
    'The plain HTTP request was sent to HTTPS port',
    'Client sent an HTTP request to an HTTPS server.',
    "Reason: You're speaking plain HTTP to an SSL-enabled server port.",
  ]) {
    const server = createServer((socket) => {
      socket.once('data', () => socket.end(`HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n${sentence}`));
    });
    const at = await placeOf(t, server);
    assert.equal(await messageOf(`http://${at}`), `The server at http://${at} speaks HTTPS: use https://${at}`);
  }
});

test('a port that only closes the connection is answered with what to try', async (t) => {
  const silent = createServer((socket) => void socket.once('data', () => socket.destroy()));
  const at = await placeOf(t, silent);
  assert.match(await messageOf(`http://${at}`), new RegExp(`if it speaks HTTPS, use https://${at}$`));
  assert.match(await messageOf(`https://${at}`), new RegExp(`if it speaks plain HTTP, use http://${at}$`));
});

test('a server that closes the connection after a while has understood: it gets no other scheme', async (t) => {
  const leaving = createServer((socket) => void socket.once('data', () => setTimeout(() => socket.destroy(), 1100)));
  const at = await placeOf(t, leaving);
  const message = `The server at http://${at} closed the connection without a response`;
  assert.equal(await messageOf(`http://${at}`), message);
});

test('a closed port, and a refusal of another kind, are not taken for a wrong scheme', async (t) => {
  const server = createServer();
  const at = await placeOf(t, server);
  await new Promise((resolve) => server.close(resolve));
  assert.equal(await messageOf(`http://${at}`), `The server at http://${at} cannot be reached`);
  assert.equal(await messageOf(`https://${at}`), `The server at https://${at} cannot be reached`);
});
