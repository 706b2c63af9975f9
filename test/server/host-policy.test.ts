import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { createHostPolicy } from '../../src/endpoint/middleware/headers.ts';
import { parseConfig } from '../../src/options/config.ts';
import { isLoopback } from '../../src/wire/net/hosts.ts';

function policyFor(server: object) {
  const config = parseConfig({ server }).server;
  assert.ok(config !== false);
  return createHostPolicy(config);
}

test('loopback is localhost, all of 127.0.0.0/8 and ::1, and nothing that looks like it', () => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.255.255.254', '::1', '[::1]']) {
    assert.equal(isLoopback(host), true, host);
  }
  for (const host of [
    '0.0.0.0',
    '::',
    '128.0.0.1',
    'localhost.evil.test',
    'evil-localhost',
    '127.0.0.1.evil.test',
    '127.1',
    '0177.0.0.1',
    '192.168.0.1',
    '',
  ]) {
    assert.equal(isLoopback(host), false, host);
  }
});

test('a host policy allows loopback names, the configured host and the allowed hosts, in any case', () => {
  const socket = new Socket();
  const policy = policyFor({
    host: '10.0.0.5',
    behindTlsProxy: true,
    allowedHosts: ['Debug.Example.test', '2001:db8::5'],
  });
  for (const host of ['localhost', '10.0.0.5', 'debug.example.test', 'DEBUG.example.TEST', '[2001:db8::5]']) {
    assert.equal(policy.allows(host, socket), true, host);
  }
  for (const host of ['evil.test', 'example.test', 'sub.debug.example.test', '10.0.0.6']) {
    assert.equal(policy.allows(host, socket), false, host);
  }
});

test('clients reach plain HTTP as http, TLS as https, and what is behind a proxy as either', () => {
  assert.deepEqual(policyFor({}).schemes, ['http']);
  assert.deepEqual(policyFor({ tls: { certFile: 'c', keyFile: 'k' } }).schemes, ['https']);
  assert.deepEqual(policyFor({ behindTlsProxy: true }).schemes, ['http', 'https']);
});
