import assert from 'node:assert/strict';
import { renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  createApiKeyVerifier,
  fixedKeys,
  type KeySource,
  openKeysFile,
  parseKeysFile,
} from '../../src/access/api-keys.ts';
import { type Authenticator, type CredentialRequest, createAuthenticator } from '../../src/access/authenticator.ts';
import type { Principal } from '../../src/access/principal.ts';
import type { ApiKeyRecord } from '../../src/options/options.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import { recordConditions } from '../support/conditions.ts';
import fc from '../support/fast-check.ts';
import { newFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { failsWith, makeKey, request } from './records.ts';

function authenticator(records: readonly ApiKeyRecord[], now: () => number = Date.now): Authenticator {
  const clock = { now, monotonic: now };
  return createAuthenticator({ apiKey: createApiKeyVerifier({ keys: fixedKeys(records), clock }) });
}

test('a key gives the principal of its record and nothing of the headers', async () => {
  const limits = { allow: { categories: ['DB_*'], maxDuration: '15m' }, approval: true };
  const fields = { userId: 'ann', tenantId: 'acme', ...limits };
  const { key, record } = makeKey({ ...fields, scopes: ['status', 'control', 'status'] });
  const principal = await authenticator([record]).authenticate(
    request({ 'X-RDCP-API-Key': key, 'X-RDCP-Client-ID': 'root', 'X-RDCP-Tenant-ID': 'other' }),
  );
  assert.deepEqual(principal, {
    method: 'api-key',
    clientId: 'ops',
    ...fields,
    scopes: ['status', 'control'],
    keyId: 'k1',
  });
});

test('the user is the client where the record names none', async () => {
  const { key, record } = makeKey();
  const principal = await authenticator([record]).authenticate(request({ 'X-RDCP-API-Key': key }));
  assert.equal(principal?.userId, 'ops');
  assert.equal(principal !== undefined && 'sessionId' in principal, false);
});

test('each request is verified by its own key as it is now, whatever was sent before', () => {
  const ann = makeKey({ id: 'ann', clientId: 'ann' });
  const bob = makeKey({ id: 'bob', clientId: 'bob' });
  let records = [ann.record, bob.record];
  const keys: KeySource = {
    get value() {
      return fixedKeys(records).value;
    },
    close: () => {},
  };
  const verifier = createApiKeyVerifier({ keys, clock: { now: Date.now, monotonic: Date.now } });
  const attempt = (key: string) => verifier.verify(key);
  assert.equal((attempt(ann.key) as Principal).clientId, 'ann');
  assert.equal((attempt(bob.key) as Principal).clientId, 'bob');
  assert.throws(() => attempt(`${bob.key}x`), failsWith('RDCP_AUTH_FAILED', 'invalid_key'));
  assert.equal((attempt(bob.key) as Principal).clientId, 'bob');
  records = [ann.record];
  assert.throws(() => attempt(bob.key), failsWith('RDCP_AUTH_FAILED', 'invalid_key'));
});

test('a key is valid from its first instant until just before its last', async () => {
  let now = 0;
  const { key, record } = makeKey({ notBefore: '2026-01-01T00:00:00.000Z', expiresAt: '2026-02-01T00:00:00.000Z' });
  const auth = authenticator([record], () => now);
  const attempt = (time: string) => {
    now = Date.parse(time);
    return auth.authenticate(request({ 'X-RDCP-API-Key': key }));
  };
  await assert.rejects(attempt('2025-12-31T23:59:59.999Z'), failsWith('RDCP_AUTH_FAILED', 'invalid_key'));
  assert.equal((await attempt('2026-01-01T00:00:00.000Z'))?.expiresAt, Date.parse('2026-02-01T00:00:00.000Z'));
  await attempt('2026-01-31T23:59:59.999Z');
  await assert.rejects(attempt('2026-02-01T00:00:00.000Z'), failsWith('RDCP_AUTH_FAILED', 'invalid_key'));
});

test('whatever else is sent as a key gets one and the same answer', async () => {
  const { key, record } = makeKey();
  const auth = authenticator([record]);
  const wrong = fc.oneof(
    fc.string(),
    fc.constant(makeKey().key),
    fc.constant(''),
    fc.constant('x'.repeat(100_000)),
    fc.nat({ max: key.length - 1 }).map((at) => `${key.slice(0, at)}~${key.slice(at + 1)}`),
    fc.constantFrom(` ${key}`, `${key} `, key.toUpperCase(), record.hash, `${key}, ${key}`),
  );
  const answers = new Set<string>();
  await fc.assert(
    fc.asyncProperty(wrong, async (value) => {
      fc.pre(value !== key);
      const error = await auth.authenticate(request({ 'X-RDCP-API-Key': value })).then(
        () => assert.fail('a wrong key authenticated'),
        (refused: unknown) => refused,
      );
      assert.ok(isRdcpError(error));
      answers.add(
        JSON.stringify([error.code, error.status, error.message, error.method, error.details, error.headers]),
      );
    }),
    { numRuns: 500 },
  );
  assert.deepEqual(
    [...answers],
    [
      JSON.stringify([
        'RDCP_AUTH_FAILED',
        401,
        'The API key is not valid',
        'api-key',
        { reason: 'invalid_key' },
        { 'WWW-Authenticate': 'ApiKey realm="rdcp", header="X-RDCP-API-Key"' },
      ]),
    ],
  );
});

test('a request without a credential is not authenticated, whatever method it names', async () => {
  const auth = authenticator([makeKey().record]);
  const bare: CredentialRequest[] = [
    request({}),
    request({ 'X-RDCP-Auth-Method': 'api-key' }),
    request({ 'X-RDCP-Auth-Method': 'nonsense' }),
    request({ Authorization: 'Basic b3BzOm9wcw==' }),
    request({ Authorization: 'Bearerish token' }),
  ];
  for (const each of bare) assert.equal(await auth.authenticate(each), undefined);
});

test('a key and a bearer token together are refused, an Authorization of another scheme beside a key is not', async () => {
  const { key, record } = makeKey();
  const auth = authenticator([record]);
  for (const authorization of ['Bearer abc', 'bearer abc', 'Bearer', 'BEARER  abc']) {
    await assert.rejects(
      auth.authenticate(request({ 'X-RDCP-API-Key': key, Authorization: authorization })),
      failsWith('RDCP_MALFORMED_REQUEST'),
    );
  }
  const principal = await auth.authenticate(request({ 'X-RDCP-API-Key': key, Authorization: 'Basic eDp5' }));
  assert.equal(principal?.clientId, 'ops');
});

test('a duplicate id or hash is a wrong configuration', () => {
  const one = makeKey({ id: 'one' });
  const duplicates = [
    [one.record, makeKey({ id: 'one' }).record],
    [one.record, { ...one.record, id: 'two' }],
  ];
  for (const records of duplicates) {
    assert.throws(() => fixedKeys(records), failsWith('RDCP_CONFIG_INVALID'));
  }
});

interface Opened {
  readonly path: string;
  readonly keys: ReturnType<typeof openKeysFile>;
  readonly lines: readonly string[];
  write(records: readonly ApiKeyRecord[]): void;
}

function open(t: TestContext, records: readonly ApiKeyRecord[]): Opened {
  const path = join(newFolder(t), 'keys.json');
  const write = (next: readonly ApiKeyRecord[]) => writeFileSync(path, JSON.stringify({ keys: next }));
  write(records);
  const { watch, lines } = recordConditions();
  const keys = openKeysFile(path, { condition: watch('keys_file') });
  t.after(() => keys.close());
  return { path, keys, lines, write };
}

test('without tenancy, a new key of a tenant is reported and not used', async (t) => {
  const old = makeKey({ id: 'old' });
  const { path, lines: unused, write } = open(t, [old.record]);
  const { watch, lines } = recordConditions();
  const keys = openKeysFile(path, { condition: watch('keys_file'), tenancy: false });
  t.after(() => keys.close());
  const next = makeKey({ id: 'next', clientId: 'acme-ops', tenantId: 'acme' });
  write([next.record]);
  await keys.refresh();
  assert.equal(keys.value.byHash.get(next.record.hash), undefined);
  assert.ok(keys.value.byHash.get(old.record.hash));
  assert.deepEqual(lines, [
    'keys file keys.json: keys.0.tenantId needs tenancy: the key of client acme-ops belongs to a tenant',
  ]);
  assert.deepEqual(unused, []);
});

test('a file replaced by rename is followed', async (t) => {
  const old = makeKey();
  const next = makeKey();
  const { path, keys } = open(t, [old.record]);
  for (const { record } of [next, old, next]) {
    writeFileSync(`${path}.new`, JSON.stringify({ keys: [record] }));
    renameSync(`${path}.new`, path);
    await keys.refresh();
    assert.ok(keys.value.byHash.get(record.hash));
  }
  assert.equal(keys.value.byHash.get(old.record.hash), undefined);
});

test('a change that keeps size and modification time is seen', async (t) => {
  const old = makeKey();
  const next = makeKey();
  const { path, keys, write } = open(t, [old.record]);
  const { atime, mtime } = statSync(path);
  write([next.record]);
  utimesSync(path, atime, mtime);
  await until('the new key works', () => keys.value.byHash.get(next.record.hash) !== undefined);
  assert.equal(keys.value.byHash.get(old.record.hash), undefined);
});

test('while the file is missing, half-written or wrong the last good keys hold, and each problem is said once, and its end', async (t) => {
  const { record } = makeKey();
  const next = makeKey();
  const { path, keys, lines, write } = open(t, [record]);
  const hash = '"hash": "not to be quoted"';
  const problems: [line: string, spoil: () => void][] = [
    ['the file cannot be read (ENOENT)', () => rmSync(path)],
    ['the file is not JSON (line 2 column 8)', () => writeFileSync(path, `{ "keys": [\n{ "id" ${hash} } ]}`)],
    ['the file is not JSON', () => writeFileSync(path, '')],
    ['keys.0.id must be a string, received undefined', () => writeFileSync(path, `{ "keys": [ { ${hash} } ] }`)],
    ['keys.1.hash is used by an earlier key', () => write([record, { ...record, id: 'other' }])],
  ];
  for (const [, spoil] of problems) {
    spoil();
    for (let look = 0; look < 3; look++) await keys.refresh();
    assert.ok(keys.value.byHash.get(record.hash));
  }
  assert.deepEqual(
    lines,
    problems.map(([line]) => `keys file keys.json: ${line}`),
  );

  write([next.record]);
  await keys.refresh();
  assert.ok(keys.value.byHash.get(next.record.hash));
  assert.equal(keys.value.byHash.get(record.hash), undefined);

  rmSync(path);
  await keys.refresh();
  assert.deepEqual(lines.slice(problems.length), [
    'keys_file is over',
    'keys file keys.json: the file cannot be read (ENOENT)',
  ]);
  write([record]);
  await keys.refresh();
  assert.ok(keys.value.byHash.get(record.hash));
});

const keyWith = (fields: object) => JSON.stringify({ keys: [{ ...makeKey().record, ...fields }] });
const wrong: [string, string, RegExp][] = [
  ['no JSON', 'keys:', /the file is not JSON/],
  ['a list', '[]', /the file must be an object/],
  ['no keys', '{}', /keys must be an array/],
  ['another field', '{"keys":[],"extra":1}', /extra is not a known field/],
  ['a plain key instead of a record', '{"keys":["rdcp_live_v1_x"]}', /keys\.0 must be an object/],
  ['an unknown field of a record', keyWith({ key: 'x' }), /keys\.0\.key is not a known field/],
  ['an upper-case hash', keyWith({ hash: `sha256:${'A'.repeat(64)}` }), /keys\.0\.hash must be/],
  ['an unknown scope', keyWith({ scopes: ['root'] }), /keys\.0\.scopes\.0 must be one of/],
  ['an allow that is empty', keyWith({ allow: {} }), /keys\.0\.allow\.categories is required/],
  ['an allow of nothing', keyWith({ allow: { categories: [] } }), /allow\.categories must hold at least one category/],
  ['an allow of more', keyWith({ allow: { categories: ['*'], tenant: 'a' } }), /allow\.tenant is not a known field/],
  ['an expiry that is no time', keyWith({ expiresAt: 'soon' }), /keys\.0\.expiresAt must be a UTC time/],
];
for (const [what, text, message] of wrong) {
  test(`a file with ${what} is refused at the start by one line that names the place`, (t) => {
    const directory = newFolder(t);
    const path = join(directory, 'keys.json');
    writeFileSync(path, text);
    assert.throws(
      () => openKeysFile(path),
      (error) => {
        assert.ok(failsWith('RDCP_CONFIG_INVALID')(error) && error instanceof Error);
        assert.match(error.message, message);
        assert.match(error.message, /^keys file keys\.json: [^\n]+$/);
        assert.equal(error.message.includes(directory), false);
        return true;
      },
    );
  });
}

test('a file that is not there is refused at the start', () => {
  assert.throws(() => openKeysFile('/nowhere/keys.json'), failsWith('RDCP_CONFIG_INVALID'));
});

test('a byte order mark is no error', () => {
  assert.deepEqual(parseKeysFile('\uFEFF{"keys":[]}', 'keys.json'), []);
});
