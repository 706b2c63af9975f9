import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KeysFile, openKeysFile, parseKeysFile } from '../../src/auth/keys-file.ts';
import type { ApiKeyRecord } from '../../src/config.ts';
import type { RdcpError } from '../../src/errors.ts';
import { failsWith, makeKey } from './records.ts';

interface Opened {
  readonly path: string;
  readonly keys: KeysFile;
  readonly reports: RdcpError[];
  write(records: readonly ApiKeyRecord[]): void;
}

function open(t: TestContext, records: readonly ApiKeyRecord[]): Opened {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-keys-'));
  const path = join(directory, 'keys.json');
  const write = (next: readonly ApiKeyRecord[]) => writeFileSync(path, JSON.stringify({ keys: next }));
  write(records);
  const reports: RdcpError[] = [];
  const keys = openKeysFile(path, { report: (error) => reports.push(error) });
  t.after(() => {
    keys.close();
    rmSync(directory, { recursive: true });
  });
  return { path, keys, reports, write };
}

test('a revoked key ends and a new one works within a second', async (t) => {
  const old = makeKey({ id: 'old' });
  const next = makeKey({ id: 'next' });
  const { keys, write } = open(t, [old.record]);
  assert.ok(keys.find(old.record.hash));
  write([next.record]);
  const started = performance.now();
  while (keys.find(old.record.hash) !== undefined || keys.find(next.record.hash) === undefined) {
    assert.ok(performance.now() - started < 1000, 'the change was not seen within a second');
    await sleep(20);
  }
});

test('a file replaced by rename is followed', async (t) => {
  const old = makeKey();
  const next = makeKey();
  const { path, keys } = open(t, [old.record]);
  for (const { record } of [next, old, next]) {
    writeFileSync(`${path}.new`, JSON.stringify({ keys: [record] }));
    renameSync(`${path}.new`, path);
    await keys.refresh();
    assert.ok(keys.find(record.hash));
  }
  assert.equal(keys.find(old.record.hash), undefined);
});

test('a change that keeps size and modification time is seen', async (t) => {
  const old = makeKey();
  const next = makeKey();
  const { path, keys, write } = open(t, [old.record]);
  const { atime, mtime } = statSync(path);
  write([next.record]);
  utimesSync(path, atime, mtime);
  await sleep(900);
  assert.ok(keys.find(next.record.hash));
  assert.equal(keys.find(old.record.hash), undefined);
});

test('while the file is missing, half-written or wrong the last good keys hold, and each problem is reported once', async (t) => {
  const { record } = makeKey();
  const next = makeKey();
  const { path, keys, reports, write } = open(t, [record]);
  const problems: [string, () => void, RegExp][] = [
    ['missing', () => rmSync(path), /^keys file keys\.json: the file cannot be read \(ENOENT\)$/],
    ['half-written', () => writeFileSync(path, '{ "keys": [ {'), /^keys file keys\.json: the file is not JSON$/],
    ['empty', () => writeFileSync(path, ''), /^keys file keys\.json: the file is not JSON$/],
    [
      'a duplicate',
      () => write([record, { ...record, id: 'other' }]),
      /^keys file keys\.json: keys\.1\.hash is the hash of an earlier key$/,
    ],
  ];
  for (const [, break_, message] of problems) {
    break_();
    const before = reports.length;
    await keys.refresh();
    await keys.refresh();
    await keys.refresh();
    assert.ok(keys.find(record.hash));
    if (reports.length === before) assert.match(reports.at(-1)?.message ?? '', message);
    else
      assert.match(
        reports
          .slice(before)
          .map((error) => error.message)
          .join('|'),
        message,
      );
  }
  assert.equal(reports.length, 3, 'half-written and empty are one problem');

  write([next.record]);
  await keys.refresh();
  assert.ok(keys.find(next.record.hash));
  assert.equal(keys.find(record.hash), undefined);

  rmSync(path);
  await keys.refresh();
  assert.equal(reports.length, 4, 'a problem that comes again after recovery is reported again');
  write([record]);
  await keys.refresh();
  assert.ok(keys.find(record.hash));
});

const wrong: [string, string, RegExp][] = [
  ['no JSON', 'keys:', /the file is not JSON/],
  ['a list', '[]', /the file must be an object/],
  ['no keys', '{}', /keys must be an array/],
  ['another field', '{"keys":[],"extra":1}', /extra is not a known field/],
  ['a plain key instead of a record', '{"keys":["rdcp_live_v1_x"]}', /keys\.0 must be an object/],
  [
    'an unknown field of a record',
    JSON.stringify({ keys: [{ ...makeKey().record, key: 'x' }] }),
    /keys\.0\.key is not a known field/,
  ],
  [
    'an upper-case hash',
    JSON.stringify({ keys: [{ ...makeKey().record, hash: `sha256:${'A'.repeat(64)}` }] }),
    /keys\.0\.hash must be/,
  ],
  [
    'an unknown scope',
    JSON.stringify({ keys: [{ ...makeKey().record, scopes: ['root'] }] }),
    /keys\.0\.scopes\.0 must be one of/,
  ],
  [
    'an expiry that is no time',
    JSON.stringify({ keys: [{ ...makeKey().record, expiresAt: 'soon' }] }),
    /keys\.0\.expiresAt must be a UTC time/,
  ],
];
for (const [what, text, message] of wrong) {
  test(`a file with ${what} is refused at the start by one line that names the place`, (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'rdcp-keys-'));
    t.after(() => rmSync(directory, { recursive: true }));
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
