import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseConfig } from '../src/options/config.ts';
import { isRdcpError } from '../src/wire/errors.ts';
import { VERSION } from '../src/wire/version.ts';

const ISSUER = { issuer: 'them', audience: 'us', algorithms: ['HS256'], secret: 's'.repeat(32) };

function refusal(input: unknown): string {
  try {
    parseConfig(input);
  } catch (error) {
    assert.ok(isRdcpError(error));
    assert.equal(error.code, 'RDCP_CONFIG_INVALID');
    return error.message;
  }
  throw new Error(`accepted ${JSON.stringify(input)}`);
}

test('without a configuration every default is filled in', () => {
  const config = parseConfig(undefined);
  assert.deepEqual(config.server, {
    host: '127.0.0.1',
    port: 9465,
    allowedHosts: [],
    behindTlsProxy: false,
    trustedProxies: [],
  });
  assert.deepEqual(config.controls, {
    defaultDuration: 900,
    maxDuration: 86_400,
    maxTemporaryPerTenant: 100,
    budget: {
      callsPerSecond: 500,
      categories: {},
      process: { callsPerSecond: 2000, bytesPerSecond: 1024 * 1024 },
    },
  });
  assert.deepEqual(config.emit, { redact: [] });
  assert.equal(config.limits.controlPerMinute, 60);
  assert.equal(config.audit.retentionDays, 90);
  assert.equal(config.store, 'memory:');
});

test('port 0 and durations in either form are accepted', () => {
  const config = parseConfig({ server: { port: 0 }, controls: { defaultDuration: 60, maxDuration: '2h' } });
  assert.partialDeepStrictEqual(config.server, { port: 0 });
  assert.deepEqual([config.controls.defaultDuration, config.controls.maxDuration], [60, 7200]);
});

test('the error of a wrong configuration is one line that names the field and the allowed values', () => {
  const cases: [unknown, RegExp][] = [
    [{ sever: {} }, /sever is not a known field; did you mean server\?$/],
    [{ server: { prot: 1 } }, /server\.prot is not a known field; did you mean server\.port\?$/],
    [{ limits: { readPerMinut: 1 } }, /did you mean limits\.readPerMinute\?$/],
    [{ adopt: { pinoo: true } }, /did you mean adopt\.pino\?$/],
    [{ server: { port: '80' } }, /server\.port .*number/],
    [{ server: { port: 70_000 } }, /server\.port .*65535/],
    [{ categories: { database: {} } }, /categories\.database .*\^\[A-Z\]/],
    [{ categories: { DATABASE: { on: true } } }, /categories\.DATABASE\.on is not a known field/],
    [{ security: { level: 'high' } }, /security\.level .*basic/],
    [{ security: { apiKeys: [{ id: 'a' }] } }, /security\.apiKeys.*hash/],
    [{ controls: { maxDuration: '1w' } }, /controls\.maxDuration .*<n>d/],
    [{ controls: { defaultDuration: '2h', maxDuration: '1h' } }, /controls\.defaultDuration .*maxDuration/],
    [{ limits: { maxCategories: 5000 } }, /limits\.maxCategories .*4096/],
    [{ limits: { controlPerMinute: 0 } }, /limits\.controlPerMinute/],
    [{ store: 'mysql://x' }, /store must be 'memory:', 'sqlite:FILE'/],
    [{ health: { db: 1 } }, /health\.db must be a function/],
    [{ server: true }, /server must be false or an object$/],
    [{ server: { port: 1.5 } }, /server\.port must be a whole number$/],
    [{ security: { apiKeys: 'keys.json' } }, /security\.apiKeys must be an object or an array$/],
    [{ categories: { 'A\nB': {} } }, /categories\.A\\u000aB must be a category name/],
    [{ audit: { retentionDays: 1e9 } }, /audit\.retentionDays must be at most 36500$/],
    [{ controls: { maxDuration: '100000d' } }, /controls\.maxDuration must be at most 3650d$/],
    [
      { security: { jwt: { ...ISSUER, algorithms: [] } } },
      /security\.jwt\.algorithms must hold at least one algorithm$/,
    ],
    [{ security: { jwt: { ...ISSUER, audience: [] } } }, /security\.jwt\.audience must have at least 1 items$/],
    [{ security: { jwt: [{ ...ISSUER, audience: [''] }] } }, /security\.jwt\.0\.audience\.0 must have at least 1 char/],
    [{ security: { jwt: { ...ISSUER, audience: '' } } }, /security\.jwt\.audience must have at least 1 char/],
    [{ security: { jwt: { ...ISSUER, issuer: '' } } }, /security\.jwt\.issuer must not be empty$/],
    ['x', /object/],
  ];
  for (const [input, expected] of cases) {
    const message = refusal(input);
    assert.match(message, expected);
    assert.ok(!message.includes('\n'), message);
  }
});

test('the version is the one of package.json', () => {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'));
  assert.equal((manifest as { version: string }).version, VERSION);
});
