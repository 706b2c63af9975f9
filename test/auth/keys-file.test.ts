import assert from 'node:assert/strict';
import { renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openKeysFile, parseKeysFile } from '../../src/access/api-keys.ts';
import type { ApiKeyRecord } from '../../src/options/options.ts';
import { recordConditions } from '../support/conditions.ts';
import { newFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { failsWith, makeKey } from './records.ts';

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
