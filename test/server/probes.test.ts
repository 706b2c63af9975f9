import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { PATHS } from '../../src/wire/constants.ts';
import { isAddressConnectedTo } from '../../src/wire/net/hosts.ts';
import { exchange, parseAnswer } from '../support/raw-http.ts';
import { startServer } from '../support/server.ts';

/** Addresses of this machine other than loopback. Link-local ones need a zone to be reached. */
const OWN = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
  .map(({ address }) => address);

const literal = (address: string) => (address.includes(':') ? `[${address}]` : address);

async function ask(url: string, request: string) {
  const answer = parseAnswer(await exchange(url, request));
  return { status: answer?.status, error: JSON.parse(answer?.body || '{}').error };
}

test('a probe of HTTP/1.0 without Host is answered', async (t) => {
  const { url } = await startServer(t);
  assert.equal((await ask(url, `GET ${PATHS.health} HTTP/1.0\r\n\r\n`)).status, 200);
  assert.equal((await ask(url, `HEAD ${PATHS.health} HTTP/1.0\r\n\r\n`)).status, 200);
  assert.equal((await ask(url, `GET ${url}${PATHS.health} HTTP/1.0\r\n\r\n`)).status, 200);
});

test('HTTP/1.1 needs a Host, and HTTP/1.0 a right one where it has one', async (t) => {
  const { url } = await startServer(t);
  for (const [request, status] of [
    [`GET ${PATHS.health} HTTP/1.1\r\nConnection: close\r\n\r\n`, 400],
    [`GET ${url}${PATHS.health} HTTP/1.1\r\nConnection: close\r\n\r\n`, 400],
    [`GET ${PATHS.health} HTTP/1.0\r\nHost:\r\n\r\n`, 400],
    [`GET ${PATHS.health} HTTP/1.0\r\nHost: evil.test\r\n\r\n`, 403],
    [`GET http://evil.test${PATHS.health} HTTP/1.0\r\n\r\n`, 403],
    [`GET ${PATHS.health} HTTP/1.0\r\nOrigin: http://evil.test\r\n\r\n`, 403],
  ] as const) {
    assert.equal((await ask(url, request)).status, status, request);
  }
});

test('a probe by the address that it is connected to is answered, as kubelet sends it', async (t) => {
  assert.ok(OWN.length > 0, 'this machine has an address beside loopback');
  for (const host of ['0.0.0.0', '::']) {
    const { url } = await startServer(t, { config: { server: { host, behindTlsProxy: true } } });
    const { port } = new URL(url);
    const reachable = OWN.filter((address) => host === '::' || !address.includes(':'));
    for (const address of reachable) {
      const at = `http://${literal(address)}:${port}`;
      const get = (name: string) =>
        ask(
          at,
          `GET ${PATHS.health} HTTP/1.1\r\nHost: ${name}\r\nUser-Agent: kube-probe/1.30\r\nConnection: close\r\n\r\n`,
        );
      assert.equal((await get(`${literal(address)}:${port}`)).status, 200, address);
      assert.equal((await get(literal(address))).status, 200, address);
      if (!address.includes(':')) assert.equal((await get(`[::ffff:${address}]:${port}`)).status, 200);
      for (const other of ['198.51.100.7', '[2001:db8::7]', '0.0.0.0.evil.test', ...OWN.map(literal)]) {
        if (other === literal(address)) continue;
        assert.equal((await get(other)).status, 403, `${other} at ${address}`);
      }
    }
  }
});

test('the refusal of a Host names the option, and no configured name', async (t) => {
  const { url } = await startServer(t, { config: { server: { allowedHosts: ['debug.example'] } } });
  const request = `GET ${PATHS.health} HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n`;
  const { status, error } = await ask(url, request);
  assert.equal(status, 403);
  assert.match(error.message, /server\.allowedHosts/);
  assert.deepEqual(error.details, { field: 'Host', option: 'server.allowedHosts' });
  assert.ok(!JSON.stringify(error).includes('debug.example'));
});

test('an address is compared as such, however it is written, and a name never', () => {
  const at = (localAddress?: string) => ({ localAddress }) as never;
  for (const [host, address] of [
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['[::ffff:c000:201]', '192.0.2.1'],
    ['[2001:DB8:0::1]', '2001:db8::1'],
    ['[fe80::1]', 'fe80::1%eth0'],
  ] as const) {
    assert.equal(isAddressConnectedTo(host, at(address)), true, host);
  }
  for (const [host, address] of [
    ['192.0.2.2', '192.0.2.1'],
    ['192.0.2.01', '192.0.2.1'],
    ['3221225985', '192.0.2.1'],
    ['192.0.2.1.', '192.0.2.1'],
    ['192.0.2.1.nip.io', '192.0.2.1'],
    ['localhost', '192.0.2.1'],
    ['192.0.2.1', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(isAddressConnectedTo(host, at(address)), false, host);
  }
});
