import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLevel } from '../../src/access/configured.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import { parseConfig } from '../../src/options/config.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { isRdcpError } from '../../src/wire/errors.ts';

const jwt = { issuer: 'https://id.example/', audience: 'rdcp', algorithms: ['HS256' as const], secret: 'x'.repeat(32) };
const tokens = { issuer: 'rdcp', audience: 'rdcp', secret: 'x'.repeat(32) };
const introspection = { endpoint: 'https://id.example/introspect', clientId: 'rdcp' };
const mtls = { identities: [] };
const tls = { certFile: 'c', keyFile: 'k', clientCaFile: 'ca' };
const authenticate = () => undefined;

function problem(config: RdcpConfig): string | undefined {
  try {
    assertLevel(parseConfig(config));
    return undefined;
  } catch (error) {
    assert.ok(isRdcpError(error));
    assert.equal(error.code, 'RDCP_CONFIG_INVALID');
    assert.ok(!error.message.includes('\n'));
    return error.message;
  }
}

test('a level whose promises the configuration can keep is accepted', () => {
  const kept: RdcpConfig[] = [
    {},
    { security: { level: 'basic', tokens } },
    { security: { level: 'standard', jwt } },
    { security: { level: 'standard', introspection } },
    { security: { level: 'standard', tokens } },
    { security: { level: 'standard', authenticate } },
    { server: { tls }, security: { level: 'standard', tokens, mtls } },
    { server: { tls }, security: { level: 'enterprise', mtls } },
    { server: { tls }, security: { level: 'enterprise', tokens } },
    { server: false, security: { level: 'enterprise', mtls } },
  ];
  for (const config of kept) assert.equal(problem(config), undefined, JSON.stringify(config));
});

test('a level whose promises it cannot keep is refused by one line that says why', () => {
  const { clientCaFile: _, ...withoutAuthority } = tls;
  const refused: [RdcpConfig, RegExp][] = [
    [{ security: { level: 'standard' } }, /security\.level standard needs bearer tokens/],
    [{ security: { level: 'standard', apiKeys: [] } }, /security\.level standard needs bearer tokens/],
    [{ server: { tls }, security: { level: 'standard', mtls } }, /security\.level standard needs bearer tokens/],
    [{ security: { level: 'enterprise' } }, /security\.level enterprise needs server\.tls\.clientCaFile/],
    [{ security: { level: 'enterprise', tokens } }, /security\.level enterprise needs server\.tls\.clientCaFile/],
    [
      { server: { tls: withoutAuthority }, security: { level: 'enterprise', tokens } },
      /security\.level enterprise needs server\.tls\.clientCaFile/,
    ],
    [{ server: { behindTlsProxy: true }, security: { level: 'enterprise', tokens } }, /clientCaFile/],
    [
      { server: { tls }, security: { level: 'enterprise' } },
      /security\.level enterprise needs security\.mtls, or bearer tokens/,
    ],
    [{ security: { mtls } }, /security\.mtls needs server\.tls\.clientCaFile/],
  ];
  for (const [config, expected] of refused) assert.match(problem(config) ?? 'accepted', expected);
});

test('a store is closed again when the credentials cannot be used', () => {
  let closed = 0;
  const memory = createMemoryStore();
  const store = {
    ...memory,
    close: async () => {
      closed += 1;
    },
  };
  assert.throws(() => createRdcp({ store, security: { apiKeys: { file: '/nowhere/keys.json' } } }), /cannot be read/);
  assert.equal(closed, 1);
});

test('the error of wrong credential settings names the field', () => {
  const wrong: [object, RegExp][] = [
    [{ tokens: { issuer: 'rdcp', audience: 'rdcp' } }, /security\.tokens must hold one of signingKeyFile and secret/],
    [{ tokens: { ...tokens, signingKeyFile: 'k' } }, /security\.tokens must hold one of/],
    [{ tokens: { ...tokens, accessTokenSeconds: 0 } }, /security\.tokens\.accessTokenSeconds/],
    [{ tokens: { ...tokens, audience: [] } }, /security\.tokens\.audience/],
    [{ introspection: { clientId: 'rdcp' } }, /security\.introspection\.endpoint/],
    [{ introspection: { ...introspection, cache: 1 } }, /security\.introspection\.cache is not a known field/],
    [{ mtls: { identities: [{ userId: 'a', scopes: ['admin'] }] } }, /identities\.0 must hold one of/],
    [
      { mtls: { identities: [{ userId: 'a', scopes: ['admin'], san: 'a.example', subject: 'CN=a' }] } },
      /identities\.0 must hold one of/,
    ],
    [{ mtls: { identities: [{ userId: 'a', scopes: [], san: 'a' }] } }, /identities\.0\.scopes/],
    [{ mtls: { identities: [{ userId: 'a', scopes: ['root'], san: 'a' }] } }, /identities\.0\.scopes/],
    [
      { mtls: { identities: [{ userId: 'a', scopes: ['admin'], fingerprint256: 'ab' }] } },
      /fingerprint256 must be 64 hex/,
    ],
    [{ mtls: { identities: [{ userId: 'a', scopes: ['admin'], subject: 'ops' }] } }, /subject must be a whole subject/],
    [{ authenticate: 'ann' }, /security\.authenticate must be a function/],
  ];
  for (const [security, expected] of wrong) {
    assert.throws(() => parseConfig({ security }), expected);
  }
});
